"""What Triton's own errors mean on a machine without a GPU, in a sentence that says what to do."""

from __future__ import annotations

import sys
from typing import Any

from kvlab import has_gpu

OUT_OF_ORDER = ("Triton was imported before kvlab, so it compiles kernels for a GPU, and there is none. Restart the "
                "kernel and run the lab from its first cell.")
_NO_TIMES = ("That asks for a GPU, as @triton.autotune and do_bench do, and there is none. Leave it out here: give the "
             "sizes in the launch, as in TILE=64; times are measured on a GPU alone.")
_NO_GRID = "A kernel is launched with a grid of programs: kernel[(programs,)](arguments)."
STEPS = {OUT_OF_ORDER: "restart the kernel", _NO_TIMES: "leave it out", _NO_GRID: "launch it with a grid"}


def compiled_without_gpu() -> bool:
    """Whether the Triton of this process was told to compile, by an import before kvlab's, though there is no GPU."""
    standard = sys.modules.get("triton.language.standard")
    return not has_gpu() and type(getattr(standard, "cdiv", None)).__name__ == "JITFunction"


def explained(error: BaseException) -> str:
    """The sentence for an error of Triton's; empty for one that speaks for itself."""
    text = str(error)
    if "active drivers" in text:
        return OUT_OF_ORDER if compiled_without_gpu() else _NO_TIMES
    if "outside of the scope of a kernel" in text:
        return OUT_OF_ORDER if compiled_without_gpu() else _NO_GRID
    return ""


def explain_in_notebook() -> None:
    """From now on a cell of this notebook that raises one of these errors also prints its sentence. Does nothing
    outside IPython, or where somebody else looks after exceptions."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and not shell.custom_exceptions and not has_gpu():
        shell.set_custom_exc((RuntimeError, ValueError), _show)


def _show(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None) -> Any:
    from kvlab.course.say import paragraph, say

    shown = shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    sentence = explained(error)
    if sentence:
        say(paragraph(sentence))
    return shown
