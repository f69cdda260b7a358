"""A notebook without a kernel: cells that run in one namespace, with their sources where IPython would put them."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
import textwrap
from typing import Any

_numbers = itertools.count(1)


class Notebook:
    """Runs cells and returns what they print. `names` is the namespace."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.run("from kvlab.course import *")

    def run(self, source: str) -> str:
        """Runs one cell. What it raises comes out, as it would show in the notebook."""
        source = textwrap.dedent(source).strip("\n") + "\n"
        filename = f"<cell {next(_numbers)}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, filename, "exec"), self.names)
        return printed.getvalue().rstrip("\n")

    def exercise(self, source: str) -> str:
        """Runs one exercise cell, written without its decorator."""
        return self.run("@exercise\n" + textwrap.dedent(source).strip("\n"))


def fits(text: str) -> bool:
    """Whether `text` is a first feedback as it must be: at most 8 lines of 110 characters, and no traceback."""
    lines = text.splitlines()
    return len(lines) <= 8 and all(len(line) <= 110 for line in lines) and "Traceback" not in text
