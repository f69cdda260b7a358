"""What is timed: our kernels, the same on contiguous memory, PyTorch on contiguous memory and on pages, and a copy.

A system takes the `Inputs` of a case and gives back a `Prepared` call, or a phrase that says why it cannot run. All of
its setting up is done by then: what is timed is the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from kvlab.compute import PagedAttention, paged_attention
from kvlab.compute.pools import store

from .cases import LARGEST_COPY
from .inputs import KEY_SCALE, VALUE_SCALE, Inputs
from .record import CONTIGUOUS, COPY, GATHER, KERNEL, SDPA

IN_ORDER = 512  # tokens in a block of memory in one piece
LARGEST_SCORES = 8 * 2**30  # bytes that torch may hold when it spells attention out


class Prepared(NamedTuple):
    """call: what is timed. bytes: that it has to move. result: what it returned or wrote, to compare; None: nothing."""

    call: Callable[[], object]
    bytes: int
    result: Callable[[], Tensor] | None = None


System = Callable[[Inputs], Prepared | str]


def kernel(inputs: Inputs) -> Prepared:
    """Our kernel on the pages."""
    if inputs.case.kind == "write":
        from kvlab.kernels.write_kv import write_kv

        (key, value), pools, slots = inputs.new, inputs.empty_pools(), inputs.slots
        call = lambda: write_kv(key, value, *pools, slots, **inputs.scales)  # noqa: E731
        return Prepared(call, inputs.case.bytes, lambda: _written(call, pools, inputs))
    return _kernel_on(inputs, inputs.pools, inputs.tables, inputs.case.bytes)


def kernel_contiguous(inputs: Inputs) -> Prepared | str:
    """Our kernel on the keys and values in one piece: large blocks, one after the other in memory.

    Their size is a power of two, up to `IN_ORDER`, so that the kernel is compiled once and not for every context.
    """
    case = inputs.case
    if case.dtype == "fp8":
        return "contiguous memory is measured in the type of the queries"
    size = math.gcd(case.context, IN_ORDER)
    blocks = case.context // size
    tables = torch.arange(case.batch * blocks, dtype=torch.int32, device=inputs.device).view(case.batch, blocks)
    pools = [rows.view(case.batch * blocks, size, *rows.shape[2:]) for rows in (inputs.keys, inputs.values)]
    return _kernel_on(inputs, (pools[0], pools[1]), tables, case.bytes)


def _kernel_on(inputs: Inputs, pools: tuple[Tensor, Tensor], tables: Tensor, moved: int) -> Prepared:
    query, lengths, scales = inputs.query, inputs.lengths, inputs.scales
    if inputs.case.kind == "decode":
        from kvlab.kernels.paged_decode import paged_decode

        return _attention(lambda: cast(Tensor, paged_decode(query, *pools, tables, lengths, **scales)), moved)
    from kvlab.kernels.paged_prefill import paged_prefill

    starts = inputs.query_start
    return _attention(lambda: cast(Tensor, paged_prefill(query, *pools, tables, starts, lengths, **scales)), moved)


def sdpa(inputs: Inputs) -> Prepared:
    """PyTorch's own attention on the keys and values in one piece; beside FP8 pools on the same numbers in bf16."""
    case = inputs.case
    query = inputs.query.view(case.batch, case.queries, case.heads, case.head_dim).transpose(1, 2)
    key, value = inputs.keys.transpose(1, 2), inputs.values.transpose(1, 2)
    mask = None if case.queries == 1 else causal_lower_right(case.queries, case.context)
    grouped = case.group > 1

    def call() -> Tensor:
        found = scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=grouped)
        return found.transpose(1, 2)

    return _attention(call, replace(case, dtype=case.source_dtype).bytes)


def paged(attention: PagedAttention) -> System:
    """Any implementation with the arguments of `kvlab.compute.paged_attention`, on the pages."""

    def prepare(inputs: Inputs) -> Prepared | str:
        if inputs.case.dtype == "fp8":
            return "it takes no FP8 pools"
        query, pools, plan = inputs.query, inputs.pools, inputs.plan
        where = inputs.tables, inputs.query_start, inputs.lengths
        return _attention(lambda: attention(query, *pools, *where, plan=plan), inputs.case.bytes)

    return prepare


def gather(inputs: Inputs) -> Prepared | str:
    """The course's PyTorch implementation: pages are gathered, then attended to."""
    scores = 4 * inputs.case.heads * inputs.case.tokens * inputs.case.context
    if inputs.case.queries > 1 and scores > LARGEST_SCORES:
        return f"its scores would take {scores / 2**30:.0f} GiB"
    return paged(cast(PagedAttention, paged_attention))(inputs)


def index_copy(inputs: Inputs) -> Prepared | str:
    """PyTorch's write: one `index_copy_` for keys and one for values, unchecked."""
    if inputs.case.dtype == "fp8":
        return "torch's index_copy_ knows no FP8"
    new, pools, slots = inputs.new, inputs.empty_pools(), inputs.slots

    def call() -> None:
        for pool, rows in zip(pools, new, strict=True):
            store(pool, rows, slots)

    return Prepared(call, inputs.case.bytes, lambda: _written(call, pools, inputs))


def copy(inputs: Inputs) -> Prepared:
    """A device-to-device copy that moves as many bytes, read and written together."""
    moved = min(inputs.case.bytes, LARGEST_COPY)
    source = torch.empty(moved // 2, dtype=torch.uint8, device=inputs.device)
    target = torch.empty_like(source)
    return Prepared(lambda: target.copy_(source), 2 * source.numel())


def _attention(call: Callable[[], object], moved: int) -> Prepared:
    """A call that returns its result: none of ours asks for the log-sum-exp, which would come beside it."""
    return Prepared(call, moved, cast(Callable[[], Tensor], call))


def _written(call: Callable[[], object], pools: tuple[Tensor, Tensor], inputs: Inputs) -> Tensor:
    """What lies in the slots of empty pools after the call, as fp32."""
    for pool in pools:
        pool.view(torch.uint8).zero_()
    call()
    found = []
    for pool, scale in zip(pools, (KEY_SCALE, VALUE_SCALE), strict=True):
        rows = pool.view(torch.uint8).flatten(0, 1)[inputs.slots].view(pool.dtype).float()
        found.append(rows * scale if inputs.scales else rows)
    return torch.stack(found)


def reference(inputs: Inputs) -> Tensor:
    """What every system of this case has to give: `[tokens, heads, head_dim]`, or keys over values of a write."""
    if inputs.case.kind == "write":
        return torch.stack(inputs.new).float()
    result = sdpa(inputs).result
    assert result is not None
    return result()


_ATTENTION: dict[str, System] = {KERNEL: kernel, CONTIGUOUS: kernel_contiguous, SDPA: sdpa, GATHER: gather, COPY: copy}
SYSTEMS: Mapping[str, Mapping[str, System]] = {
    "decode": _ATTENTION,
    "prefill": _ATTENTION,
    "write": {KERNEL: kernel, GATHER: index_copy, COPY: copy},
}
