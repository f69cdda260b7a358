"""Parallel sampling: n answers to one prompt, which is run once and then forked; or the n best of more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kvlab.errors import UsageError

from .group import BranchId, Group
from .request import Generation


class Samples(Group):
    """What `Engine.sample` returns. `samples` grow as the engine steps, each an ordinary `Generation` with a number.

    samples: `best_of` of them, all sampled by the same settings; number i has random numbers of its own, which follow
    from the seed and i, so that a seed gives the same answers, each different. n: how many are wanted in the end.
    """

    def __init__(self, stem: Generation, n: int, best_of: int) -> None:
        super().__init__(stem)
        self.n = n
        self.samples = [self._sample(number, scored=best_of > n) for number in range(best_of)]

    def _sample(self, number: int, scored: bool) -> Generation:
        return replace(self.stem, id=BranchId(self.id, number), number=number, scored=scored, tokens=[], scores=[])

    @property
    def seats(self) -> int:
        """Samples that have not ended."""
        return sum(not sample.finished for sample in self.samples)

    @property
    def best(self) -> list[Generation]:
        """The `n` samples that were asked for, when all have ended; aborted ones come after the others.

        If there are more than `n`, those with the highest log-probability per token come first, by the model's own
        distribution, before temperature, top-k and top-p. Before the end: `UsageError`.
        """
        if not self.finished:
            raise UsageError(f"{self.seats} of the {len(self.samples)} samples of request {self.id!r} have not ended")
        scores = {id(sample): sample.logprob / max(1, len(sample.tokens)) for sample in self.samples}
        order = sorted(self.samples, key=lambda sample: (sample.reason == "aborted", -scores[id(sample)]))
        return order[: self.n]

    def readers(self, generation: Generation) -> Sequence[Generation]:
        """Who takes a token from the logits that `generation` was given: all samples, if it is the stem."""
        if generation is not self.stem:
            return (generation,)
        return [sample for sample in self.samples if not sample.finished]

    def abort(self) -> None:
        """End every sample that has not ended."""
        for generation in (*self.samples, self.stem):
            generation.abort()
