"""Whether this machine can measure kernels, and the sentence that says why not. No torch is imported for it."""

from __future__ import annotations

import os

from kvlab.mode import installed, mode

WHAT = {
    "decode": "how fast decode attention reads keys and values",
    "prefill": "how fast prefill attention is",
    "write": "how fast keys and values are written to their slots",
    "all": "how fast the kernels are",
}


def why_not(kind: str = "all") -> str | None:
    """Why `kind` cannot be measured here, in one sentence; None where it can."""
    obstacle = _obstacle()
    if obstacle is None:
        return None
    return f"cannot measure {WHAT[kind]}: {obstacle}."


def _obstacle() -> str | None:
    name = mode().name
    if name == "no torch":
        return "no torch is installed"
    if name == "cpu torch":
        return "a GPU is there, but this torch is a CPU build"
    if name != "gpu":
        forced = os.environ.get("TRITON_INTERPRET") == "1" and _has_gpu()
        return "TRITON_INTERPRET=1 is set, and a time of Triton's interpreter says nothing about a GPU" if forced else (
            "that takes an NVIDIA GPU, and there is none here"
        )
    if not installed("triton"):
        return "no Triton is installed"
    return _torch_cannot()


def _has_gpu() -> bool:
    from kvlab import has_gpu

    return has_gpu()


def _torch_cannot() -> str | None:
    """A device file is there, so torch is asked."""
    import torch

    return None if torch.cuda.is_available() else "a GPU is there, but torch cannot use it"
