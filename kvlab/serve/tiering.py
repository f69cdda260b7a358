"""An engine's blocks in its tiers: stored when they are published, loaded before a request that needs them is admitted.

Stored at once, and not when a block is about to lose its hash in the pool: then it is in use, so that nothing can write
to it while it is gathered (F29); no request that takes a block has to wait for that; and what an engine has computed
outlives it, whenever it ends. It costs the copy of blocks that would never have been evicted.

Loaded in two halves. While a request waits its blocks are read, checked and put aside, and it holds none of the pool's,
so that nobody waits for blocks that a load holds (F18). When all are there it is admitted as any other: its table's
blocks are taken, those that were found in the pool first (F30), and the bytes are copied to them before the step runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import Tier, TierStack
from kvlab.memory.tier_stack import Load

from .hf import PagedModel
from .metrics import TierStats
from .plan import StillLoading
from .request import Generation


class Tiering:
    """The tiers of one engine, opened for what `paged` keeps in its pools. See `TierStack` for what is refused."""

    def __init__(self, tiers: Sequence[Tier], paged: PagedModel) -> None:
        from kvlab.compute.tier_store import TierStore, fingerprint

        self.bytes = TierStore(paged.cache)
        self.stack = TierStack(tiers, self.bytes.layout(fingerprint(paged.model)))
        self.hits = [0] * len(self.stack.tiers)
        """Tokens of admitted requests that each tier gave, whether or not they count as shared."""
        self._aside: WeakKeyDictionary[Generation, dict[Hashable, Load]] = WeakKeyDictionary()
        self._due: dict[Hashable, list[tuple[int, Load]]] = {}

    def stats(self) -> tuple[TierStats, ...]:
        """What each tier holds, has done and gave."""
        self.stack.poll()
        each = zip(self.stack.tiers, self.stack.counts, self.hits, strict=True)
        return tuple(
            TierStats(
                tier.name, tier.num_blocks, len(tier), done.stored, done.loaded, done.failed, done.dropped, tokens,
                done.error,
            )
            for tier, done, tokens in each
        )  # fmt: skip

    def further(self, generation: Generation, keys: list[Hashable]) -> list[Load]:
        """The longest beginning of `keys` that is aside for this request, once nothing more of it is on its way.

        Until then `StillLoading`. A load that fails ends it: what comes after is computed.
        """
        self.stack.poll()
        aside = self._aside.setdefault(generation, {})
        there: list[Load] = []
        for key in keys:
            load = aside.get(key)
            if load is None or load.done and load.data is None:
                break
            there.append(load)
        if len(there) < len(keys) and keys[len(there)] not in aside:
            new = self.stack.load(self.stack.run(keys[len(there) :]))
            aside.update({load.key: load for load in new})
            there += new
        missing = [load for load in there if not load.done]
        if missing:
            raise StillLoading(len(missing), lambda: self.stack.wait(missing))
        return there

    def entered(self, generation: Generation, blocks: list[int], loads: list[Load]) -> None:
        """It was admitted, and `loads` are due in these blocks, each of which only its table names."""
        self._aside.pop(generation, None)
        if loads:
            self._due[generation.id] = list(zip(blocks, loads, strict=True))
            size = self.stack.layout.block_size
            for load in loads:
                self.hits[load.tier] += size

    def left(self, job_id: Hashable) -> None:
        """Its blocks are no longer its own, so nothing is copied to them."""
        self._due.pop(job_id, None)

    def copy_in(self) -> None:
        """Copy what is due to its blocks. Whatever comes next may read them."""
        due = [pair for pairs in self._due.values() for pair in pairs]
        if due:
            self.bytes.unpack([block for block, _ in due], [load.data for _, load in due if load.data is not None])
            self._due.clear()

    def store(self, blocks: dict[Hashable, int]) -> None:
        """Begin to store these blocks by their keys, those that no tier has. They are in use, and written (I8)."""
        self.stack.poll()
        wanted = {key: block for key, block in reversed(blocks.items()) if self.stack.wants(key)}
        if wanted:
            rows, ready = self.bytes.pack(list(wanted.values()))
            for key, row in zip(wanted, rows, strict=True):
                self.stack.store(key, row, ready)

    def close(self) -> None:
        """Let the tiers finish, and keep what they can for the next engine."""
        self.stack.close()

    def check(self) -> None:
        """Walk the tiers; what is due is there, and goes to a block once."""
        self.stack.check()
        due = [pair for pairs in self._due.values() for pair in pairs]
        if len({block for block, _ in due}) < len(due) or any(load.data is None for _, load in due):
            raise InvariantBroken("I8", f"{len(due)} blocks are due, some without bytes or in one place")


def attach(tiers: Sequence[Tier], paged: PagedModel, reuse: Any, placement: Any) -> Tiering | None:
    """The tiers, made known to those who find and store blocks and to those who copy them; None if there are none.

    Either index finds blocks that were loaded, since a tier's keys are made of the tokens alone. Without an index
    nothing is ever looked for, so tiers are refused: `UsageError`.
    """
    if not tiers:
        return None
    if reuse.index is None:
        raise UsageError('tiers keep what a prefix index finds: give prefix="hash" or another index with them')
    tiering = Tiering(tiers, paged)
    reuse.tiers = placement.tiers = tiering
    return tiering
