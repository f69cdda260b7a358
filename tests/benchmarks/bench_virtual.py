"""Decode attention on the CPU: contiguous keys and values on virtual memory, in ordinary memory, and paged.

python -m tests.benchmarks.bench_virtual [--rounds 9] [--requests 8] [--json PATH]

One layer of 8 KV heads of 64 under 32 query heads, fp32, all requests in one call. All three use torch's own attention
with the query heads of a KV head as rows of one product; the paged one gathers its blocks first (a kernel would read
them where they lie), by a plan that is made once, as an engine makes it for all layers. They take turns within each
round, since only ratios within one run mean anything; a figure is the median over rounds, in milliseconds of processor
time. The last line is what one token more for every request costs the accounts, in which nearly no step maps a page.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
import torch

from kvlab.compute import AttentionPlan, LayerShape, PagedCache, VirtualKV, paged_attention
from kvlab.memory import BlockManager
from tests.benchmarks import command

HEADS, SHAPE, BLOCK_SIZE, PAGE = 32, LayerShape(8, 64, 64), 16, 64 << 10
SYSTEMS = ("virtual", "contiguous", "paged")


def systems(requests: int, context: int) -> dict[str, Callable[[], torch.Tensor]]:
    """Each way to the same attention, `[requests, heads, dim]`, over the same keys and values."""
    draw = torch.Generator().manual_seed(context)
    keys, values = (torch.randn(requests, context, 8, 64, generator=draw) for _ in range(2))
    query = torch.randn(requests, HEADS, 64, generator=draw)
    attend_paged, memory = _paged(query, keys, values), _virtual(keys, values)
    on_pages = [tensor[:, :context] for tensor in memory.batch(0)]
    return {
        "virtual": lambda: _attend(query, *on_pages),
        "contiguous": lambda: _attend(query, keys, values),
        "paged": attend_paged,
    }


def _attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    packed = query.view(len(query), 8, HEADS // 8, 64)
    found = torch.nn.functional.scaled_dot_product_attention(packed, keys.transpose(1, 2), values.transpose(1, 2))
    return found.reshape(query.shape)


def _virtual(keys: torch.Tensor, values: torch.Tensor) -> VirtualKV:
    requests, context = keys.shape[:2]
    pages = 2 * requests * (context * 8 * 64 * 4 // PAGE + 1)
    memory = VirtualKV([SHAPE], rows=requests, max_tokens=2 * context, num_pages=pages, page_bytes=PAGE)
    for request in range(requests):
        memory.reserve(request)
        memory.grow(request, context)
        memory.write(request, 0, keys[request], values[request])
    memory.check()
    return memory


def _paged(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Callable[[], torch.Tensor]:
    requests, context = keys.shape[:2]
    blocks = requests * (context // BLOCK_SIZE + 2)
    manager, cache = BlockManager(blocks, BLOCK_SIZE), PagedCache(blocks, BLOCK_SIZE, [SHAPE])
    for request in range(requests):
        manager.admit(request, 0)
    for _ in range(context):  # token by token, so that no request's blocks are neighbours
        for request in range(requests):
            manager.append(request)
    for request in range(requests):
        cache.write(0, keys[request], values[request], torch.from_numpy(manager.slots(request, 0, context)))
    tables = np.array([manager.table(request) for request in range(requests)], np.int32)
    plan = AttentionPlan(tables, [1] * requests, [context] * requests, BLOCK_SIZE, query.device)
    starts, contexts = torch.arange(requests + 1), torch.full((requests,), context, dtype=torch.int32)
    pools = cache.keys[0], cache.values[0]
    return lambda: paged_attention(query, *pools, torch.from_numpy(tables), starts, contexts, plan=plan)


def milliseconds(call: Callable[[], object]) -> float:
    """Processor time of one call."""
    started = process_time()
    call()
    return (process_time() - started) * 1e3


def measure(requests: int, context: int, rounds: int) -> dict[str, float]:
    """Milliseconds of each system, after one round that does not count and in which their results are compared."""
    calls = systems(requests, context)
    expected = calls["contiguous"]()
    for name, call in calls.items():
        if not torch.allclose(call(), expected, atol=1e-4):
            raise RuntimeError(f"{name} computes something else")
    times = [[milliseconds(calls[name]) for name in SYSTEMS] for _ in range(rounds)]
    return {name: median(column) for name, column in zip(SYSTEMS, zip(*times, strict=True), strict=True)}


def growth_microseconds(requests: int, tokens: int) -> float:
    """What `grow` by one token takes, per request, real pages included: a layer of 8 heads, 128 tokens a page."""
    memory = VirtualKV([SHAPE], rows=requests, max_tokens=tokens, num_pages=1 << 16, page_bytes=8 * 64 * 4 * 128)
    for request in range(requests):
        memory.reserve(request)
    started = process_time()
    for step in range(1, tokens + 1):
        for request in range(requests):
            memory.grow(request, step)
    return (process_time() - started) * 1e6 / (requests * tokens)


def main() -> None:
    """Print the table."""
    options = command.parser(__doc__, rounds=9, requests=8).parse_args()
    torch.set_num_threads(1)
    figures: dict[str, dict[str, float]] = {}
    print(
        f"{'context':>8}" + "".join(f"{name:>14}" for name in SYSTEMS) + f"{'paged/virtual':>16}{'virtual/plain':>16}"
    )
    for context in (256, 1024, 4096):
        row = measure(options.requests, context, options.rounds)
        figures[str(context)] = row
        ratios = row["paged"] / row["virtual"], row["virtual"] / row["contiguous"]
        print(
            f"{context:>8}"
            + "".join(f"{row[name]:>11.2f} ms" for name in SYSTEMS)
            + "".join(f"{r:>16.2f}" for r in ratios)
        )
    figures["growth"] = {"microseconds": growth_microseconds(options.requests, 1024)}
    print(f"one token more: {figures['growth']['microseconds']:.2f} us for each request")
    command.keep(figures, options.json)


if __name__ == "__main__":
    main()
