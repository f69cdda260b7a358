"""kvlab: build the KV-cache manager of an LLM server, part by part."""

from __future__ import annotations

import os

__version__ = "0.1.0"


def has_gpu() -> bool:
    """Whether an NVIDIA device is visible, asked of the driver's files so that no framework is imported."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    return not hidden and (os.path.exists("/dev/nvidia0") or os.path.exists("/dev/dxg"))


if not has_gpu():  # Triton reads this once, at its first import
    os.environ.setdefault("TRITON_INTERPRET", "1")
