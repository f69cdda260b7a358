"""Attention on the CPU over keys and values in FP8, beside float32 and bfloat16: what reading fewer bytes costs there.

python -m tests.benchmarks.bench_fp8 [--rounds 15] [--sequences 8] [--context 512] [--json PATH]

One decode step of one layer, gathered through block tables. The kinds take turns within each round, since only ratios
within one run mean anything; a figure is the median over rounds, in milliseconds of processor time. A GPU reads fewer
bytes and gains; a CPU without instructions for FP8 has to convert each number first, and pays.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import process_time
from typing import Any

import torch

from kvlab.compute import AttentionPlan, PagedCache, paged_attention
from tests.benchmarks import command

BLOCK_SIZE, HEADS, KV_HEADS, DIM = 16, 8, 4, 64
KINDS: dict[str, dict[str, Any]] = {
    "float32": {},
    "bfloat16": {"dtype": torch.bfloat16},
    "fp8, one scale": {"kv_dtype": "fp8", "scales": (0.01, 0.02)},
    "fp8, a scale a head": {
        "kv_dtype": "fp8",
        "scales": (torch.full((KV_HEADS,), 0.01), torch.full((KV_HEADS,), 0.02)),
    },
    "fp8, one a token and head": {"kv_dtype": "fp8", "scales": "token_head"},
    "fp8 e5m2, one scale": {"kv_dtype": "fp8_e5m2", "scales": (0.01, 0.02)},
}


def step(kind: str, sequences: int, context: int) -> tuple[Callable[[], object], int]:
    """One layer's decode step, and the bytes that a token takes in its pools."""
    options = dict(KINDS[kind])
    dtype = options.pop("dtype", torch.float32)
    draw = torch.Generator().manual_seed(0)
    blocks = -(-context // BLOCK_SIZE)
    cache = PagedCache(sequences * blocks, BLOCK_SIZE, **options)
    order = torch.randperm(sequences * blocks, generator=draw)
    slots = (order[:, None] * BLOCK_SIZE + torch.arange(BLOCK_SIZE)).flatten()
    key, value = (torch.randn(len(slots), KV_HEADS, DIM, generator=draw).to(dtype) for _ in range(2))
    cache.write(0, key, value, slots)
    tables = order.view(sequences, blocks).to(torch.int32)
    query = torch.randn(sequences, HEADS, DIM, generator=draw).to(dtype)
    plan = AttentionPlan(tables.numpy(), [1] * sequences, [context] * sequences, BLOCK_SIZE)
    lengths, start = torch.full((sequences,), context, dtype=torch.int32), torch.arange(sequences + 1)
    scales = cache.layer_scales[0]

    def call() -> object:
        pools = cache.keys[0], cache.values[0]
        return paged_attention(
            query, *pools, tables, start, lengths, plan=plan, key_scale=scales.key, value_scale=scales.value
        )

    return call, cache.bytes_per_token


def milliseconds(call: Callable[[], object]) -> float:
    """Processor time of one call, the mean of five."""
    started = process_time()
    for _ in range(5):
        call()
    return (process_time() - started) * 1e3 / 5


def main() -> None:
    """Prints a table, and writes the figures as JSON if asked."""
    options = command.parser(__doc__, rounds=15, sequences=8, context=512).parse_args()
    torch.set_num_threads(1)
    steps = {kind: step(kind, options.sequences, options.context) for kind in KINDS}
    rounds = [{kind: milliseconds(call) for kind, (call, _) in steps.items()} for _ in range(options.rounds + 1)][1:]
    figures = {kind: statistics.median(times[kind] for times in rounds) for kind in KINDS}
    print(f"{'a decode step of one layer':28} {'bytes a token':>13} {'ms':>7} {'to float32':>10}")
    for kind, (_, size) in steps.items():
        print(f"{kind:28} {size:13,} {figures[kind]:7.2f} {figures[kind] / figures['float32']:10.2f}")
    command.keep(figures, options.json)


if __name__ == "__main__":
    main()
