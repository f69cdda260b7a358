"""Which cases are measured when nobody says otherwise, the most telling first: time may run out before the last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from .cases import Case

BATCHES, CONTEXTS = (1, 8, 32, 128), (1024, 4096, 16384, 65536)
HEADS = 32
GROUP = 4  # Llama 3 8B: 32 query heads on 8 KV heads
PREFILLS = (  # batch, new tokens, context: whole prompts, then chunks that attend to what came before
    (1, 512, 512),
    (1, 2048, 2048),
    (1, 8192, 8192),
    (8, 512, 512),
    (8, 2048, 2048),
    (1, 512, 4096),
    (1, 512, 16384),
    (1, 512, 65536),
    (8, 256, 16384),
)
WRITES = ((1, 5120), (1, 1024), (1, 16384), (1, 65536), (128, 1), (8, 1), (1, 1))  # batch, new tokens each


def _product(
    batches: Iterable[int],
    contexts: Iterable[int],
    blocks: Iterable[int],
    groups: Iterable[int],
    dtypes: Iterable[str],
) -> list[Case]:
    """Every combination as a decode case of 32 query heads (or `group`, if that is more)."""
    cases = []
    for dtype, block, group, batch, context in product(dtypes, blocks, groups, batches, contexts):
        heads = max(HEADS, group) // group * group
        cases.append(Case("decode", batch, context, 1, block, heads, heads // group, dtype=dtype))
    return cases


def _once(cases: Iterable[Case]) -> list[Case]:
    return list(dict.fromkeys(cases))


def decode_cases(
    batches: Sequence[int] | None = None,
    contexts: Sequence[int] | None = None,
    blocks: Sequence[int] | None = None,
    groups: Sequence[int] | None = None,
    dtypes: Sequence[str] | None = None,
) -> list[Case]:
    """Decode cases over batch x context x block size x group x dtype.

    Where something is named, the product of what is named and, for the rest, Llama 3 8B's shape in blocks of 16, bf16,
    over all of `BATCHES` x `CONTEXTS`. Where nothing is: that product, again in FP8, again in blocks of 64, and other
    blocks and groups at four of its points.
    """
    named = (batches, contexts, blocks, groups, dtypes)
    plain = [Case("decode", batch, context) for batch in BATCHES for context in CONTEXTS]
    if any(named):
        points = batches or BATCHES, contexts or CONTEXTS
        return _product(*points, blocks or (16,), groups or (GROUP,), dtypes or ("bf16",))
    some = ((8, 128), (4096, 16384))
    return _once(
        [
            *plain,
            *_product(BATCHES, CONTEXTS, (16,), (GROUP,), ("fp8",)),
            *_product(BATCHES, CONTEXTS, (64,), (GROUP,), ("bf16",)),
            *_product(*some, (16,), (1, 8, 16), ("bf16", "fp8")),
            *_product(*some, (32, 64, 128, 256), (GROUP,), ("bf16", "fp8")),
        ]
    )


def few() -> list[Case]:
    """Six decode cases from 4 to 403 MB, for a lab: they take seconds and at most 2 GiB of GPU memory."""
    points = ((1, 1024), (1, 4096), (8, 1024), (8, 4096), (8, 8192), (8, 12288))
    return [Case("decode", batch, context) for batch, context in points]


def prefill_cases(blocks: Sequence[int] | None = None, dtypes: Sequence[str] | None = None) -> list[Case]:
    """Prefill cases, whole prompts and chunks, of Llama 3 8B's shape."""
    shapes = product(dtypes or ("bf16", "fp8"), blocks or (16,), PREFILLS)
    return [Case("prefill", batch, context, new, block, dtype=dtype) for dtype, block, (batch, new, context) in shapes]


def write_cases(blocks: Sequence[int] | None = None, dtypes: Sequence[str] | None = None) -> list[Case]:
    """Write cases: prompts of 1,024 to 65,536 tokens, and decode steps of 1, 8 and 128 sequences of 1,024."""
    shapes = product(dtypes or ("bf16", "fp8"), blocks or (16, 64), WRITES)
    return [
        Case("write", batch, max(new, 1024), new, block, dtype=dtype) for dtype, block, (batch, new) in shapes
    ]


def all_cases() -> list[Case]:
    """Everything that is measured by default: 16 plain decode cases, writes, prefills, and then the other decodes."""
    decode = decode_cases()
    plain = len(BATCHES) * len(CONTEXTS)
    return [*decode[:plain], *write_cases(), *prefill_cases(), *decode[plain:]]
