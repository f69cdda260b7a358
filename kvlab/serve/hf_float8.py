"""What runs on keys and values of 8 bits, and what does not."""

from __future__ import annotations

import inspect

import torch

from kvlab.compute import Backend, Kernels, PagedAttention, PagedCache, choose_backend
from kvlab.compute.backend import float8_objection
from kvlab.errors import UsageError


def backend_for(cache: PagedCache, device: torch.device) -> Backend:
    """`choose_backend(device)`, or PyTorch's code where the kernels that would run cannot read the cache's pools."""
    found = choose_backend(device)
    if cache.dtype is None or found.name != "triton":
        return found
    objection = float8_objection(cache.dtype, device)
    if cache.scales.per_token:
        objection = "its kernels take no scale for each token and head"
    if objection is None:
        return found
    return choose_backend(device, "torch")._replace(why=f"torch: triton cannot run: {objection}")


def refuse_float8(attention: PagedAttention | None, kernels: Kernels) -> None:
    """`UsageError` for parts that know no scales: they would read codes as if they were keys and values."""
    if kernels.write is not None or kernels.decode is not None:
        raise UsageError("lab 05's kernels know no scales: keys and values in 8 bits go without them")
    if attention is None:
        return
    parameters = inspect.signature(attention).parameters
    if not {"key_scale", "value_scale"} <= parameters.keys():
        says = "keys and values in 8 bits need an attention that takes key_scale and value_scale"
        raise UsageError(f"{says}, and this one takes {', '.join(parameters)}")
