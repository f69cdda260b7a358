"""Which implementation of paged attention runs here, and why."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import NamedTuple, Protocol, cast

import torch
from torch import Tensor

from kvlab.errors import UsageError

from .attention import paged_attention
from .plan import AttentionPlan


class PagedAttention(Protocol):
    """What an implementation offers: the arguments of `kvlab.compute.paged_attention`, and the same result."""

    def __call__(
        self,
        query: Tensor,
        key_pool: Tensor,
        value_pool: Tensor,
        block_tables: Tensor,
        query_start: Tensor,
        context_lengths: Tensor,
        *,
        scale: float | None = None,
        window: int | None = None,
        softcap: float | None = None,
        sinks: Tensor | None = None,
        plan: AttentionPlan | None = None,
        key_scale: Tensor | float | None = None,
        value_scale: Tensor | float | None = None,
    ) -> Tensor: ...


class Backend(NamedTuple):
    """An implementation that was chosen: its name, the reason in one sentence, and the function."""

    name: str
    why: str
    attention: PagedAttention


Objection = Callable[[torch.device], str | None]


class _Entry(NamedTuple):
    objection: Objection
    load: Callable[[], PagedAttention]
    asked: Objection


_ENTRIES: dict[str, _Entry] = {}


def register_backend(
    name: str, objection: Objection, load: Callable[[], PagedAttention], asked: Objection | None = None
) -> None:
    """Offer an implementation. `objection(device)` says in a phrase why it cannot run there, or None; `load` imports
    it. `asked`: the objection when it is asked for by name, if that is another.

    Those registered later are preferred; "torch", the first, has no objection to any device.
    """
    _ENTRIES[name] = _Entry(objection, load, asked or objection)


def choose_backend(device: torch.device | str = "cpu", requested: str | None = None) -> Backend:
    """The implementation for `device`: the one `requested` (or named by KVLAB_BACKEND), else the best that can run.

    An unknown name, or one that cannot run on the device, is refused with `UsageError` that says why.
    """
    device = torch.device(device)
    requested = requested or os.environ.get("KVLAB_BACKEND")
    if requested:
        return _the_one(requested, device)
    objections: list[str] = []
    for name, entry in reversed(_ENTRIES.items()):
        objection = entry.objection(device)
        if objection is None:
            reason = "; ".join(objections) or f"the only implementation for {device.type}"
            return Backend(name, f"{name}: {reason}", entry.load())
        objections.append(f"{name} cannot run: {objection}")
    raise UsageError(f"no implementation of paged attention runs on {device}: {'; '.join(objections)}")


def _the_one(name: str, device: torch.device) -> Backend:
    if name not in _ENTRIES:
        raise UsageError(f'there is no implementation "{name}" of paged attention, only {", ".join(_ENTRIES)}')
    objection = _ENTRIES[name].asked(device)
    if objection is not None:
        raise UsageError(f"{name} was asked for but cannot run on {device}: {objection}")
    return Backend(name, f"{name}: asked for", _ENTRIES[name].load())


register_backend("torch", lambda device: None, lambda: cast(PagedAttention, paged_attention))


def _no_gpu(device: torch.device) -> str | None:
    """Why Triton's kernels do not run compiled on `device`."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if device.type != "cuda":
        interpreter = "; its interpreter, which is slow, runs if KVLAB_BACKEND=triton asks for it"
        return f"it needs an NVIDIA GPU{interpreter if device.type == 'cpu' else ''}"
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "TRITON_INTERPRET=1 keeps Triton in its interpreter"
    found = torch.cuda.get_device_capability(device)
    return None if found >= (8, 0) else f"it needs compute capability 8.0, this GPU has {found[0]}.{found[1]}"


def _no_interpreter(device: torch.device) -> str | None:
    """The same when it is asked for by name: then the interpreter will do, if Triton was imported for it."""
    objection = _no_gpu(device)
    if objection is None or importlib.util.find_spec("triton") is None or device.type not in ("cpu", "cuda"):
        return objection
    from kvlab.kernels import checks, paged_decode

    if checks.is_interpreted(paged_decode.paged_decode_kernel):
        return None
    return f"{objection.split(';')[0]}, or TRITON_INTERPRET=1 before Triton is first imported"


def float8_objection(dtype: torch.dtype, device: torch.device, capability: tuple[int, int] | None = None) -> str | None:
    """Why compiled kernels cannot read or write pools of `dtype` on this GPU, or None; PyTorch's code can.

    capability: the GPU's, which is asked for if it is None.
    """
    if dtype is not torch.float8_e4m3fn or device.type != "cuda":
        return None
    found = capability or torch.cuda.get_device_capability(device)
    if found >= (8, 9):
        return None
    return f'"fp8" needs compute capability 8.9 there, this GPU has {found[0]}.{found[1]}, and "fp8_e5m2" would run'


def _load_triton() -> PagedAttention:
    from . import triton_attention

    return cast(PagedAttention, triton_attention.paged_attention)


register_backend("triton", _no_gpu, _load_triton, _no_interpreter)
