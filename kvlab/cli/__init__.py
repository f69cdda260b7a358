"""The `kvlab` command: everything a learner does outside a notebook."""
