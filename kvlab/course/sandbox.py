"""A warm helper process in which a learner's kernel first runs on the GPU.

A kernel that reads where nothing is ruins the CUDA context of the process it runs in, for good, and one that never ends
cannot be stopped from inside. In the helper both cost a helper: it is killed, the next one is started, and the notebook
has its verdict and its context. The helper is started once, initialises CUDA, and serves one launch after the other.

Everything here works with the CPU as the device too, where kernels run in Triton's interpreter.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import Any

from kvlab.course.interpreter import KernelFault, Window
from kvlab.course.interpreter.launch import Grid, steps_of
from kvlab.course.parcels import Parcel, packed, received
from kvlab.course.portable import Portable, portable
from kvlab.errors import KVLabError, UsageError

START = 90.0  # seconds in which a helper must have torch and CUDA ready
_SERVE = "from kvlab.course.sandboxed import serve; serve()"


class NoHelper(KVLabError):
    """The helper process did not get as far as to take a launch; the text says how it ended."""


class Helper:
    """One helper process. `ask` sends it a message and waits for the answer; after "crashed" or "late" it is dead."""

    def __init__(self, device: str) -> None:
        paths = [os.path.abspath(path) for path in sys.path if path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "KVLAB_SANDBOX": device}
        environment["TRITON_INTERPRET"] = "1" if device == "cpu" else "0"
        self.process = subprocess.Popen([sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment, start_new_session=True)
        self.ready = False

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self.process.poll() is None

    def ask(self, message: bytes, seconds: float) -> tuple[str, Any]:
        """("done", results), ("raised", text) or ("broken", text) from the helper; ("crashed", how) or ("late", "")
        about it."""
        try:
            if not self.ready:
                how, what = self._receive(START)
                if how != "ready":
                    raise NoHelper(what or f"nothing in {START:g} s")
                self.ready = True
            assert self.process.stdin is not None
            self.process.stdin.write(struct.pack("<Q", len(message)) + message)
            self.process.stdin.flush()
        except (BrokenPipeError, OSError):
            return "crashed", self._ended()
        return self._receive(seconds)

    def _receive(self, seconds: float) -> tuple[str, Any]:
        assert self.process.stdout is not None
        data, deadline, pipe = b"", time.monotonic() + seconds, self.process.stdout.fileno()
        while len(data) < 8 or len(data) < 8 + struct.unpack("<Q", data[:8])[0]:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                self.kill()
                return "late", ""
            piece = os.read(pipe, 1 << 20)
            if not piece:
                return "crashed", self._ended()
            data += piece
        return pickle.loads(data[8:])

    def _ended(self) -> str:
        """How the process ended, in words."""
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its pipe"
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """Ends it, with everything it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:  # already gone
            pass
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # what was not sent any more
                pass


class Sandbox:
    """Launches kernels in a helper. `device`: "cuda", or "cpu" for Triton's interpreter. `seconds`: how long a launch
    may take, its compilation included."""

    def __init__(self, device: str = "cuda", seconds: float = 20.0) -> None:
        self.device, self.seconds = device, seconds
        self.helper: Helper | None = None
        self._turn = threading.Lock()

    def start(self) -> None:
        """Starts a helper if there is none; it gets ready in the background."""
        if self.helper is None or not self.helper.alive:
            self.close()
            self.helper = Helper(self.device)

    def close(self) -> None:
        """Ends the helper."""
        helper, self.helper = self.helper, None
        if helper is not None:
            helper.kill()

    def launch(self, kernel: Any, grid: Grid, /, *arguments: Any, **_rules: Any) -> None:
        """Runs `kernel[grid](*arguments)` in the helper and brings the tensors back, as if it had run here.

        Tensors of any device; they are changed in place. KernelFault of kind "crash" (the process or its CUDA context
        is gone), "hang" (it did not end in time) or "device" (it does not compile, or raises). NoHelper if the process
        does not start.
        """
        if any(isinstance(value, Window) for value in arguments):
            raise UsageError("a Window stands for memory that does not exist, so it cannot be sent to a device")
        with self._turn:
            self.start()
            assert self.helper is not None
            parcel, held = packed(arguments)
            how, what = self._asked(portable(kernel), steps_of(kernel, grid, arguments), parcel)
        if how == "done":
            return received(held, what)
        raise _fault(how, what, self.device, self.seconds)

    def _asked(self, code: Portable, grid: tuple[int, ...], parcel: Parcel) -> tuple[str, Any]:
        assert self.helper is not None
        try:
            how, what = self.helper.ask(pickle.dumps((code, grid, parcel)), self.seconds)
        except BaseException:  # no helper, or an interrupt: what it does now is anybody's guess
            self.close()
            raise
        if how in ("crashed", "late", "broken"):
            self.close()
            self.start()
        return how, what


def _fault(how: str, what: str, device: str, seconds: float) -> KernelFault:
    where = "on the GPU" if device == "cuda" else "in the helper process"
    safe = "It ran in a process of its own, so this notebook goes on."
    if how == "late":
        return KernelFault("hang", f"did not end {where} within {seconds:g} s. {safe}",
                           next="look for a loop whose bound can be wrong")
    if how == "raised":
        return KernelFault("device", f"{where} {what}" if what.startswith("it ") else f"raised {what}")
    reason = what if how == "broken" else f"the process ended with {what}"
    return KernelFault("crash", f"crashed {where}: {reason}. {safe}", next="check the masks and the block ids")


@functools.cache
def shared() -> Sandbox:
    """The sandbox of this notebook, for its GPU."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox
