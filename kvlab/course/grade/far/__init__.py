"""What goes over to the learner's process, copied there under the name `far`. Nothing in here imports the course."""
