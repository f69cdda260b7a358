"""What an engine counts while it serves."""

from __future__ import annotations

from typing import Any

from kvlab.memory import BlockManager, HitRate

from .line import Line
from .metrics import Stats
from .scheduler import Scheduler
from .tiering import Tiering


class Counters:
    """The part of an engine that counts, and reads the counts of its parts.

    steps: that were carried out; projected_tokens: that they ran; generated_tokens: sampled, the beams' among them.
    planning_seconds, step_seconds: spent before the model ran, and in all.
    """

    steps = projected_tokens = generated_tokens = 0
    planning_seconds = step_seconds = 0.0
    num_blocks: int
    manager: BlockManager
    scheduler: Scheduler
    store: Any
    _line: Line
    _reuse: Any
    _tiers: Tiering | None

    @property
    def hits(self) -> HitRate:
        """Prompt tokens of admitted requests, and those that were found; all 0 without an index."""
        return self._reuse.hits

    def stats(self) -> Stats:
        """What it is doing, and has done; see also `kvlab.serve.metrics.prometheus`."""
        scheduler, pool, host = self.scheduler, self.manager.pool, self.store.swapper
        ended, swapped = self._line.ended, sum(job.state == "swapped" for job in scheduler.waiting)
        return Stats(
            running=scheduler.num_running,
            waiting=len(scheduler.waiting) - swapped,
            swapped=swapped,
            blocks=self.num_blocks - (getattr(pool, "null", None) is not None),
            blocks_free=pool.num_free,
            blocks_cached=getattr(pool, "num_cached", 0),
            host_blocks=host.host.num_blocks if host is not None else 0,
            host_blocks_free=host.host.num_free if host is not None else 0,
            steps=self.steps,
            computed_tokens=self.projected_tokens,
            generated_tokens=self.generated_tokens,
            finished=ended["eos"] + ended["stop"] + ended["length"],
            aborted=ended["aborted"],
            preemptions=scheduler.preemptions,
            swaps=scheduler.swaps,
            recomputed_tokens=scheduler.recomputed_tokens,
            prefix_queries=self.hits.asked,
            prefix_hits=self.hits.found,
            planning_seconds=self.planning_seconds,
            step_seconds=self.step_seconds,
            tiers=self._tiers.stats() if self._tiers is not None else (),
        )
