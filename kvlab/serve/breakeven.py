"""Loading beside computing on this machine: how long a prompt must be for its blocks to be worth bringing back."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from transformers import PreTrainedModel

from kvlab.errors import UsageError
from kvlab.memory import Tier, blocks_needed

from .engine import Engine


class Reload(NamedTuple):
    """A prompt of `tokens` tokens, all of which but the last block can be found: seconds to its first token.

    computing: without tiers; loading: with them. loaded: tokens that came from there.
    """

    tokens: int
    computing: float
    loading: float
    loaded: int

    @property
    def ratio(self) -> float:
        """How many times as long computing takes."""
        return self.computing / self.loading


def measure_reload(
    model: PreTrainedModel,
    tiers: Callable[[], Sequence[Tier]],
    lengths: Sequence[int] = (16, 32, 64, 128, 256, 512, 1024),
    *,
    block_size: int = 16,
    rounds: int = 3,
    seed: int = 0,
) -> list[Reload]:
    """Time both ways for prompts of each number of tokens, one block more than what is found; the best of `rounds`.

    Before each, the pool forgets all it knows. The two take turns, since only their ratio within one run means
    anything. A length below a block, or no round, is refused with `UsageError`.
    """
    if not lengths or min(lengths) < block_size or rounds < 1:
        raise UsageError(f"lengths from {block_size} on and a round are needed, not {list(lengths)} and {rounds}")
    num_blocks = blocks_needed(max(lengths) + block_size, block_size) + 2
    both = [Engine(model, num_blocks, block_size, prefix="hash", tiers=chosen) for chosen in ((), tiers())]
    found = []
    drawn = random.Random(seed)
    try:
        for length in lengths:
            prompt = [drawn.randrange(5, both[0].paged.vocab_size) for _ in range(length + block_size)]
            best, loaded = [float("inf")] * 2, 0
            for number in range(rounds + 1):  # the first stores
                for which, engine in enumerate(both):
                    before = engine.hits.found
                    seconds = _first_token(engine, prompt)
                    if number:
                        best[which] = min(best[which], seconds)
                        loaded = engine.hits.found - before
            found.append(Reload(length, best[0], best[1], loaded))
    finally:
        for engine in both:
            engine.close()
    return found


def measured_break_even(measured: Sequence[Reload]) -> int | None:
    """The smallest of the lengths from which on loading was never slower, None if it was slower at the longest."""
    best = None
    for one in sorted(measured, reverse=True):
        if one.ratio < 1:
            break
        best = one.tokens
    return best


def _first_token(engine: Engine, prompt: list[int]) -> float:
    """Seconds to the first token of an answer, by an engine whose pool holds no prefix and whose tiers are idle."""
    engine.settle_tiers()
    pool: Any = engine.manager.pool  # an index has seen to it that it is one that keeps hashes
    pool.evict(engine.num_blocks)
    began = perf_counter()
    engine.submit(prompt, 1, eos=())
    engine.run()
    return perf_counter() - began
