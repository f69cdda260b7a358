"""The `kvlab` command: everything a learner does outside a notebook.

`main` reads what was typed, and `failure` is how a command says that it cannot; `places` finds labs and folders.
A learner's: `start` (by `copying`, with what `assistants` are told), `progress`, `reset` and `catch_up` (by `notebooks`
and `record`), `doctor`. An instructor's: `guide`, `slides`, `room`, `grade`. The package at work: `generate`, `serve`,
`bench`. `jupyter` is a folder of JupyterLab's settings.
"""
