"""What runs inside the sandbox's helper process: it takes launches from its input and answers on its output."""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import pickle
import re
import struct
import sys
import tempfile
import threading
import time
from typing import Any, BinaryIO

from kvlab.course.parcels import sent_back, unpacked

_RUINED = ("CUDA error", "illegal memory access", "misaligned address", "launch failure", "device-side assert")


def serve() -> None:
    """Answers launches until the input ends or the notebook is gone."""
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # what a kernel prints must not look like an answer
        os.dup2(nowhere, standard)
    faulthandler.disable()
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    device = os.environ["KVLAB_SANDBOX"]
    _warm(device)
    _answer(target, ("ready", ""))
    with tempfile.TemporaryDirectory(prefix="kvlab-sandbox-") as folder:
        while len(size := source.read(8)) == 8:
            job = pickle.loads(source.read(struct.unpack("<Q", size)[0]))
            answer = _lowered(job, folder) if device == "compiler" else _launched(job, device, folder)
            _answer(target, answer)
            if answer[0] == "broken":  # this process has lost its CUDA context: the next one must have another
                os._exit(0)


def _watch(notebook: int) -> None:
    """Ends this process when the one that started it is gone, whatever a kernel is doing meanwhile."""
    while os.getppid() == notebook:
        time.sleep(1)
    os._exit(0)


def _warm(device: str) -> None:
    import triton  # noqa: F401

    if device == "compiler":  # which needs no tensor, and so none of torch's seconds and megabytes
        return
    import torch

    torch.zeros(1, device=device)
    if device == "cuda":
        torch.cuda.synchronize()


def _answer(target: BinaryIO, answer: tuple[str, Any]) -> None:
    data = pickle.dumps(answer)
    target.write(struct.pack("<Q", len(data)) + data)
    target.flush()


def _launched(job: Any, device: str, folder: str) -> tuple[str, Any]:
    """The answer to one launch: its tensors, or what went wrong."""
    code, grid, parcel = job
    try:
        arguments, held = unpacked(parcel, device)
        _imported(code, folder)[grid](*arguments)
        if device == "cuda":
            import torch

            torch.cuda.synchronize()
        return "done", sent_back(held)
    except Exception as error:
        said = _said(error)
        return ("broken" if any(word in said for word in _RUINED) else "raised"), said


def _lowered(job: Any, folder: str) -> tuple[str, Any]:
    """Whether a kernel compiles; "unknown" if the compiler did not get as far as to say so."""
    from kvlab.course.lowered import lower

    code, arguments = job
    try:
        lower(_imported(code, folder), arguments)
        return "done", ""
    except Exception as error:
        said = _said(error)
        return ("raised" if said.startswith("it does not compile") else "unknown"), said


def _imported(code: Any, folder: str) -> Any:
    """The kernel, from a file, since Triton compiles what stands in files. The same source is the same kernel, which is
    compiled once."""
    name = f"kvlab_kernel_{code.digest}"
    if name not in sys.modules:
        path = os.path.join(folder, f"{name}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code.text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        vars(module).update(code.constants)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return getattr(sys.modules[name], code.name)


def _said(error: BaseException) -> str:
    """An error in one line: where a kernel does not compile, or the first line of what was there first."""
    while not _of_compiler(error) and error.__cause__ is not None:
        error = error.__cause__
    if _of_compiler(error):
        return _uncompiled(str(error))
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": ")


def _of_compiler(error: BaseException) -> bool:
    return any(kind.__name__ == "CompilationError" for kind in type(error).__mro__)


def _uncompiled(text: str) -> str:
    """Triton says "at 3:8:", the kernel up to there, a caret, and the reason. The line and the reason are enough."""
    found = re.match(r"at (\d+):\d+:\n(.*)\n *\^\n(.*)", text, re.DOTALL)
    if found is None:
        return text
    number, source, reason = found.groups()
    reason = re.sub(r"^\w+Error\(['\"](.*)['\"]\)$", r"\1", " ".join(reason.replace("\\n", " ").split()))
    return f"it does not compile. Line {number}: {source.splitlines()[-1].strip()}. {reason[:160]}"
