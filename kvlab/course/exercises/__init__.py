"""The exercises of the course, one module per lab: `labNN.EXERCISES`. See `kvlab.course.declare` for their form.

`labNN` has a lab's exercises, or collects them from `labNN_*`: a file for each, and beside it the checks (`..._bench`),
the known mistakes (`..._mistakes`, `..._slips` and others, so that files stay short) and the right answer that they
start from (`..._plain`). Other files bear the name of the part that they are about: `*_bench` says what it must do,
`*_model` is a plain model that it is compared with. `radix_form` looks at trees, `scenarios` runs operations.
"""
