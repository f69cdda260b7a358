"""Replays of parallel sampling and beam search: how many blocks are used, step by step, with and without sharing.

Kwon et al. 2023, section 6.3 and figure 15, found for OPT-13B that sharing saves, with 2 to 6 samples, 6.1 to 9.8 % of
the blocks on Alpaca and 16.2 to 30.5 % on ShareGPT, and with as many beams 37.6 to 55.2 % and 44.3 to 66.3 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kvlab.errors import UsageError

from .pool import BlockPool
from .sharing import append_with_cow, beam_step
from .table import blocks_needed
from .workload import Trace

Parents = Sequence[int]
"""A step of a beam search: for each of the next beams, which one it continues."""


class Saving(NamedTuple):
    """Blocks summed over all steps: those in use, those it would be without sharing; and copies made in all."""

    blocks: int = 0
    unshared: int = 0
    copies: int = 0

    @property
    def saved(self) -> float:
        """Blocks saved over blocks without sharing, 0.0 where there are none (Kwon et al. 2023, section 6.3)."""
        return 1 - self.blocks / self.unshared if self.unshared else 0.0

    def plus(self, other: Saving) -> Saving:
        """Both together."""
        return Saving(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def replay_samples(trace: Trace, n: int, block_size: int = 16) -> Saving:
    """Every request of `trace` is answered `n` times, each time with as many tokens; the prompt runs once."""
    steps = [list(range(n))]
    return _summed(replay_parents(r.prompt, n, steps * (r.answer - 1), block_size) for r in trace)


def replay_beams(trace: Trace, width: int, loyalty: float = 0.95, seed: int = 0, block_size: int = 16) -> Saving:
    """Every request of `trace` is answered by a search with `width` beams, whose parents are `drawn_parents`."""
    draw = np.random.default_rng(seed)
    return _summed(
        replay_parents(r.prompt, width, drawn_parents(width, r.answer - 1, loyalty, draw), block_size) for r in trace
    )


def drawn_parents(
    width: int, steps: int, loyalty: float = 0.95, seed: int | np.random.Generator = 0
) -> list[list[int]]:
    """Parents of `steps` steps of a search: beam i continues itself with probability `loyalty`, else any of all.

    A model and no measurement: in a real search the likelier beams have more children, and how many depends on the
    language model and on the text. The default gives about the paper's savings. `BeamSearch.parents` has the parents of
    a search that was run.
    """
    if width < 1 or not 0 <= loyalty <= 1:
        raise UsageError(f"at least 1 beam, and a loyalty from 0 to 1, not {width} and {loyalty}")
    draw = np.random.default_rng(seed)
    loyal = draw.random((max(0, steps), width)) < loyalty
    return np.where(loyal, np.arange(width), draw.integers(0, width, loyal.shape)).tolist()


def replay_parents(prompt: int, width: int, parents: Iterable[Parents], block_size: int = 16) -> Saving:
    """A prompt of `prompt` tokens is forked into `width` sequences, each of which writes a token a step.

    parents: for each further step, whom each sequence continues there. Blocks are counted after each step's writes; the
    prompt alone, which costs the same either way, is not counted.
    """
    if prompt < 1 or width < 1:
        raise UsageError(f"at least 1 token of prompt and 1 sequence, not {prompt} and {width}")
    steps = list(parents)
    most = blocks_needed(prompt + len(steps) + 1, block_size)
    pool = BlockPool(width * most + 1)
    tables, total = beam_step([pool.take(blocks_needed(prompt, block_size))], [0] * width, pool), Saving()
    for step in range(len(steps) + 1):
        if step and list(steps[step - 1]) != list(range(width)):
            tables = beam_step(tables, steps[step - 1], pool)
        written = [append_with_cow(table, prompt + step, pool, block_size) for table in tables]
        copies = sum(copy is not None for _, copy in written)
        used, unshared = pool.num_blocks - pool.num_free, sum(map(len, tables))
        total = total.plus(Saving(used, unshared, copies))
    return total


def _summed(savings: Iterable[Saving]) -> Saving:
    total = Saving()
    for saving in savings:
        total = total.plus(saving)
    return total
