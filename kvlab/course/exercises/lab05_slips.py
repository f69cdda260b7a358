"""What the kernel exercises of lab 05 share: wrong kernels that are made of the right ones."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import linecache
from typing import Any

_numbers = itertools.count(1)


@functools.cache
def _finished(module: str, kernel: str) -> str:
    """The text of a finished kernel, without its decorator."""
    text = inspect.getsource(getattr(importlib.import_module(module), kernel).fn)
    return text[text.index("def ") :]


class Slip:
    """A wrong kernel: the finished one, with pieces of its text replaced. It is made when it is first launched, since
    declarations are read where Triton is not installed.

    module, kernel: where the finished one is. name: of the thought. changes: (old, new) each; LookupError when the
    finished kernel's text has no `old` any more.
    """

    def __init__(self, module: str, kernel: str, name: str, *changes: tuple[str, str]) -> None:
        self.module, self.kernel, self.changes = module, kernel, changes
        self.__name__ = name

    def __call__(self, *_: Any) -> None:
        raise TypeError("a kernel is launched on a grid")

    @functools.cached_property
    def fn(self) -> Any:
        """The wrong kernel as a Python function, as Triton's own kernels have it."""
        text = _finished(self.module, self.kernel)
        for old, new in self.changes:
            if old not in text:
                raise LookupError(f"{self.__name__}: {self.kernel} has no {old!r}")
            text = text.replace(old, new)
        filename = f"<slip {next(_numbers)}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        return _compiled(text, filename, self.kernel)


def _compiled(text: str, filename: str, kernel: str) -> Any:
    """The kernel's function. It is rewritten here as Triton's interpreter rewrites what it runs, since Triton reads the
    source for it several times, which takes longer than the launch; a Triton that does it in another way does it."""
    names = {"tl": importlib.import_module("triton.language")}
    interpreter = importlib.import_module("triton.runtime.interpreter")
    try:
        tree = ast.fix_missing_locations(interpreter.ASTTransformer().visit(ast.parse(text)))
        names["interpreter_semantic"] = interpreter.interpreter_semantic
        known = interpreter.InterpretedFunction.rewritten_fn
    except AttributeError:
        tree, known = ast.parse(text), {}
    exec(compile(tree, filename, "exec"), names)
    known[names[kernel]] = names[kernel]
    return names[kernel]
