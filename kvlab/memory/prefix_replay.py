"""A trace served through a prefix index, block by block: what is found and what must be computed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from kvlab.errors import OutOfBlocks, UsageError

from .history import History
from .manager import BlockManager
from .pool import BlockPool
from .prefix import PrefixCache
from .protocols import PrefixIndex
from .radix import RadixCache
from .workload import Trace, answer_tokens, prompt_tokens

INDEXES: dict[str, Callable[[BlockPool, int], PrefixIndex]] = {"hash": PrefixCache, "radix": RadixCache}
"""The finished indexes by name."""


@dataclass
class HitRate:
    """Prompt tokens that were asked for, and those of them that were found. A request counts once, when it is admitted.

    What a request computes again after a preemption is neither asked for nor found: finding its own blocks is no
    sharing.
    """

    asked: int = 0
    found: int = 0

    def record(self, asked: int, found: int, again: bool = False) -> None:
        """Count a request that was admitted with `found` of its `asked` tokens; `again`: after a preemption."""
        if not again:
            self.asked += asked
            self.found += found

    @property
    def share(self) -> float:
        """Tokens found over tokens asked for; 0.0 before anything was asked."""
        return self.found / self.asked if self.asked else 0.0


class PrefixReplay(NamedTuple):
    """What `replay_prefixes` saw."""

    hits: HitRate
    replaced: int
    """Blocks that were computed although another request had the same by then, and were given back for it."""
    most_blocks: int
    """Blocks in use at once, at most."""


def make_index(index: str | Callable[[BlockPool, int], PrefixIndex], pool: BlockPool, block_size: int) -> PrefixIndex:
    """The index called "hash" or "radix", or what `index(pool, block_size)` returns. Another name: `UsageError`."""
    if not isinstance(index, str):
        return index(pool, block_size)
    if index not in INDEXES:
        raise UsageError(f"there is no prefix index {index!r}: there are {', '.join(INDEXES)}")
    return INDEXES[index](pool, block_size)


def replay_prefixes(
    trace: Trace,
    index: str | Callable[[BlockPool, int], PrefixIndex] = "hash",
    num_blocks: int = 4096,
    block_size: int = 16,
    running: int = 8,
    vocabulary: int = 32_000,
) -> PrefixReplay:
    """Serve `trace` in order, `running` requests at a time: the oldest ends when the next comes.

    A request takes what `index` finds of its prompt, computes the rest and its answer, and publishes both as far as
    later prompts can repeat them. When blocks are short the oldest ends earlier. A trace without segments, or a request
    larger than the pool: `UsageError`.
    """
    return _Served(index, num_blocks, block_size).run(trace, running, vocabulary)


class _Served:
    def __init__(self, index: str | Callable[[BlockPool, int], PrefixIndex], num_blocks: int, block_size: int) -> None:
        self.pool = BlockPool(num_blocks)
        self.manager = BlockManager(self.pool, block_size)
        self.index = make_index(index, self.pool, block_size)
        self.hits, self.flying = HitRate(), deque[int]()
        self.replaced = self.most = 0

    def run(self, trace: Trace, running: int, vocabulary: int) -> PrefixReplay:
        for number, request in enumerate(trace):
            while len(self.flying) >= running:
                self.manager.free(self.flying.popleft())
            said = History(prompt_tokens(request, vocabulary))
            self._with_room(partial(self._begin, number, said), spared=0)
            self.flying.append(number)
            self._with_room(partial(self.manager.extend, number, request.answer), spared=1)
            if request.says is not None:
                said.extend(answer_tokens(request, vocabulary))
                self._publish(number, said)
            self.most = max(self.most, self.pool.num_blocks - self.pool.num_free)
        return PrefixReplay(self.hits, self.replaced, self.most)

    def _begin(self, number: int, said: History) -> None:
        match = self.index.match(said)
        self.manager.admit(number, len(said), match.blocks)
        self.hits.record(len(said), match.num_tokens)
        self._publish(number, said)

    def _publish(self, number: int, said: History) -> None:
        others = self.index.publish(said, self.manager.table(number))
        self.manager.remap(number, others)
        self.replaced += len(others)

    def _with_room(self, call: Callable[[], object], spared: int) -> None:
        """`call`, after as many of the oldest have ended as it takes, but for the `spared` newest."""
        while True:
            try:
                call()
                return
            except OutOfBlocks as error:
                if len(self.flying) <= spared:
                    raise UsageError(f"a request needs {error.needed} blocks more, and {error.free} are free") from None
                self.manager.free(self.flying.popleft())
