"""A kernel of a notebook as text that another process can import: its source, its helpers, and the names they use."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import textwrap
from typing import Any, NamedTuple

from kvlab.course.source import name_of, plain, source_of
from kvlab.errors import UsageError


class Portable(NamedTuple):
    """text: a module that defines the kernel `name`. constants: names that must hold these values first. digest: of
    all of that."""

    name: str
    text: str
    constants: dict[str, Any]
    digest: str


def portable(kernel: Any) -> Portable:
    """The kernel, ready to travel. UsageError if its source is not to be had."""
    imports: dict[str, str] = {"triton": "import triton as triton"}  # by the name that is bound
    sources: dict[str, str] = {}
    constants: dict[str, Any] = {}
    _collect(kernel, name_of(kernel) or "kernel", imports, sources, constants)
    text = "\n\n\n".join(["\n".join(imports.values()), *reversed(sources.values())]) + "\n"
    digest = hashlib.sha256(f"{text}{sorted(constants.items())!r}".encode()).hexdigest()[:16]
    return Portable(name_of(kernel) or "kernel", text, constants, digest)


def _collect(kernel: Any, name: str, imports: dict[str, str], sources: dict[str, str],
             constants: dict[str, Any]) -> None:
    """Adds a kernel and everything it uses of its notebook; the kernel first, what it calls behind it."""
    found, function = source_of(kernel), plain(kernel)
    if found is None:
        raise UsageError(f"the source of {name} is not to be had, and the GPU's helper process needs it")
    start = min([found.node.lineno, *(item.lineno for item in found.node.decorator_list)])
    body = found.text.splitlines()[found.node.lineno - start :]
    also = "" if found.node.name == name else f"\n\n\n{name} = {found.node.name}"
    sources[name] = "@triton.jit\n" + textwrap.dedent("\n".join(body)) + also
    for used in sorted({node.id for node in ast.walk(found.node) if isinstance(node, ast.Name)} - {name}):
        value = function.__globals__.get(used)
        if inspect.ismodule(value):
            imports[used] = f"import {value.__name__} as {used}"
        elif not isinstance(value, type) and hasattr(value, "fn") and used not in sources:
            _collect(value, used, imports, sources, constants)
        elif isinstance(value, (bool, int, float, str)) or type(value).__module__.startswith("triton.language"):
            constants[used] = value
        elif _importable(value):
            imports[used] = f"from {value.__module__} import {value.__name__} as {used}"


def _importable(value: Any) -> bool:
    """Whether `value` is a function or class of a module that another process can import too."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return False
    return getattr(sys.modules.get(module), name, None) is value
