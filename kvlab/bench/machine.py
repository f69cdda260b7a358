"""What a measurement has to say about where it was made: the device, and the versions of what took part."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from datetime import UTC, datetime
from typing import Any

import torch

import kvlab

PACKAGES = ("torch", "triton", "numpy")


def device_facts(device: torch.device) -> dict[str, Any]:
    """Name and sizes of a device; bytes where a size is one. `gpu` says whether kernels were compiled for it."""
    if device.type != "cuda":
        return {"name": f"{platform.machine()} CPU", "gpu": False, "threads": torch.get_num_threads()}
    found = torch.cuda.get_device_properties(device)
    return {
        "name": found.name,
        "gpu": True,
        "capability": f"{found.major}.{found.minor}",
        "sm_count": found.multi_processor_count,
        "memory": found.total_memory,
        "l2_cache": found.L2_cache_size,
        "clocks": _asked("clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem", device),
    }


def versions(device: torch.device) -> dict[str, str]:
    """Versions of kvlab, Python, torch, triton, numpy, and on a GPU of CUDA and the driver."""
    found = {"kvlab": kvlab.__version__, "python": platform.python_version()}
    found |= {name: _version(name) for name in PACKAGES}
    if device.type == "cuda":
        found |= {"cuda": str(torch.version.cuda), "driver": _asked("driver_version", device)}
    return found


def now() -> str:
    """UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def free_memory(device: torch.device) -> int | None:
    """Bytes of device memory that are free, torch's own reserve included; None where nobody counts."""
    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _asked(what: str, device: torch.device) -> str:
    """What nvidia-smi says; device numbers agree with torch's unless CUDA_VISIBLE_DEVICES reorders them."""
    command = ["nvidia-smi", f"--id={device.index or 0}", f"--query-gpu={what}", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
