"""The exercises of the course, one module per lab: `labNN.EXERCISES`. See `kvlab.course.declare` for their form."""
