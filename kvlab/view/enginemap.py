"""What each block of an engine is at the moment, as the colours of a block map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kvlab.serve.engine import Engine

BLANK, ALONE, SHARED, IDLE, HOST = range(5)  # palette indices
LEGEND = {
    ALONE: "has one owner",
    SHARED: "has several owners",
    IDLE: "has no owner, and can still be found",
    BLANK: "free",
    HOST: "taken on the host",
}
RANK = np.array([0, 2, 4, 1, 3])  # of the states above: which of several that share a square is shown
CELLS = 2048
"""Squares of a map at most."""


def block_states(engine: Engine, owners: np.ndarray | None = None) -> np.ndarray:
    """A palette index for every block of the pool, and after these for every block of the host.

    Of more than 2,048 blocks, as many as needed share a square, which shows the most telling one of them: several
    owners before the host's before one owner before what can be found. owners: those of `block_owners`, if they are
    known already.
    """
    owners = block_owners(engine) if owners is None else owners
    pool: Any = engine.manager.pool  # a learner's may know no hashes
    states = np.where(owners > 1, SHARED, np.where(owners == 1, ALONE, BLANK))
    if getattr(pool, "num_cached", 0):
        idle = [block for block in np.flatnonzero(owners == 0).tolist() if pool.key_of(block) is not None]
        states[idle] = IDLE
    if engine.store.swapper is not None:
        states = np.concatenate([states, np.where(np.array(engine.store.swapper.host.counts) > 0, HOST, BLANK)])
    each = -(-len(states) // CELLS)
    states = np.pad(states, (0, -len(states) % each), constant_values=BLANK).reshape(-1, each)
    return states[np.arange(len(states)), RANK[states].argmax(axis=1)]


def block_owners(engine: Engine) -> np.ndarray:
    """How many owners each block of the pool has, the null block none. A learner's pool may have no list of them."""
    pool = engine.manager.pool
    counts = getattr(pool, "counts", None)
    owners = np.array(counts if counts is not None else [pool.ref_count(block) for block in range(pool.num_blocks)])
    if getattr(pool, "null", None) is not None:
        owners[pool.null] = 0  # type: ignore[attr-defined]  # it stands for what is gone, and holds nothing
    return owners
