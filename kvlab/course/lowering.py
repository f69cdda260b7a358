"""On a machine without a GPU, a kernel that is right in the interpreter is also handed to Triton's compiler.

The interpreter runs Python, so it runs what no GPU could: `break`, a tile whose size is no constant, a variable that
changes its type in a loop. The first stage of the compiler (from Python to Triton's own IR) needs no GPU and takes a
quarter of a second. It runs in a helper process, since in this one Triton was imported for its interpreter.
"""

from __future__ import annotations

import atexit
import functools
import pickle
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from kvlab.course import verdict
from kvlab.course.declare import Exercise
from kvlab.course.launches import Launches, tensor_of
from kvlab.course.portable import portable
from kvlab.course.sandbox import Helper, NoHelper
from kvlab.course.verdict import PASSED, Verdict
from kvlab.errors import UsageError

COMPILER = "compiler"  # the helper's device, if it lowers and does not launch
SECONDS = 10.0
ADVICE = {
    "Loop-carried variable": "begin it with the type it has later, as in 0.0 or tl.zeros(..., dtype=tl.float32)",
    "AST node type: Break": "bound the loop, or mask what comes too late: a GPU's loops run to their end",
    "AST node type: Continue": "put the rest of the loop under an if, or mask it",
}


class Tensor(NamedTuple):
    """What the compiler has to know of a tensor argument: its dtype, by torch's name."""

    dtype: str


class Compiler:
    """Lowers kernels in a helper process; `start` it early, since it needs seconds to import Triton."""

    def __init__(self) -> None:
        self.helper: Helper | None = None
        self._turn = threading.Lock()

    def start(self) -> None:
        """Starts a helper if there is none; it gets ready in the background."""
        with self._turn:
            self._started()

    def close(self) -> None:
        """Ends the helper."""
        helper, self.helper = self.helper, None
        if helper is not None:
            helper.kill()

    def complaint(self, kernel: Any, arguments: Mapping[str, Any]) -> str:
        """Why `kernel` does not compile for arguments like these, in a sentence; empty if it does, or if nobody can
        say: a compiler that cannot be asked is no fault of the learner's."""
        given = {name: _described(value) for name, value in arguments.items()}
        try:
            message = pickle.dumps((portable(kernel), given))
            with self._turn:
                how, what = self._started().ask(message, SECONDS)
        except (NoHelper, OSError, UsageError, pickle.PicklingError):
            self.close()
            return ""
        except BaseException:  # an interrupt: the next answer would be that to this question
            self.close()
            raise
        return what if how == "raised" else ""

    def _started(self) -> Helper:
        if self.helper is None or not self.helper.alive:
            self.close()
            self.helper = Helper(COMPILER)
        return self.helper


def _described(value: Any) -> Any:
    tensor = tensor_of(value)
    return Tensor(str(tensor.dtype).removeprefix("torch.")) if hasattr(tensor, "data_ptr") else value


def lowered(entry: Exercise, part: Any, found: Verdict, compiler: Compiler | None = None) -> Verdict:
    """`found`, or for a kernel that passed and does not compile a verdict that says which line is the reason."""
    if found.status != PASSED:
        return found
    launch = next((check.build(value) for check in entry.checks if isinstance(check, Launches)
                   for value in check.examples), None)
    if launch is None:
        return found
    said = (compiler or shared()).complaint(part, launch.arguments)
    if not said:
        return found
    title = f"{entry.name}: right in the interpreter, but on a GPU {said}"
    advice = next((step for sign, step in ADVICE.items() if sign in said), "write that line as a GPU can run it")
    return verdict.failed(entry.name, title, next=advice, part=entry.part)


@functools.cache
def shared() -> Compiler:
    """The compiler of this notebook."""
    compiler = Compiler()
    atexit.register(compiler.close)
    return compiler
