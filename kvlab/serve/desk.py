"""What callers ask for, made into requests, or refused before anything waits for it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from operator import index

from kvlab.errors import UsageError
from kvlab.memory.history import tag_bytes

from .admission import Limits
from .beam import BeamSearch, EarlyStopping
from .hf import PagedModel
from .parallel import Samples
from .request import Generation
from .sampling import GREEDY, Sampling


class Desk:
    """Makes the requests of one engine, for the model that `paged` runs.

    Every method refuses at once: `NeverFits` what could never run (I10), `UsageError` what makes no sense.
    """

    def __init__(self, limits: Limits, paged: PagedModel) -> None:
        self._limits, self._paged = limits, paged
        self._ids = itertools.count()

    def single(
        self,
        taken: Collection[Hashable],
        prompt: Sequence[int],
        max_new_tokens: int,
        sampling: Sampling = GREEDY,
        *,
        eos: Iterable[int] | None = None,
        stop: Iterable[Sequence[int]] = (),
        request_id: Hashable = None,
        tag: tuple[Hashable, ...] = (),
        priority: int = 0,
        alternatives: int | None = None,
    ) -> Generation:
        """One answer. taken: the names that there are, of which `request_id` must be none."""
        prompt, max_new_tokens = [int(token) for token in prompt], index(max_new_tokens)
        self._refuse_senseless(prompt, max_new_tokens)
        if request_id in taken:
            raise UsageError(f"a request {request_id!r} is there already")
        if request_id is None:
            request_id = next(number for number in self._ids if number not in taken)
        self._limits.share(len(prompt), max_new_tokens)
        ends = self._paged.eos if eos is None else frozenset(map(int, eos))
        endings = [tuple(map(int, ending)) for ending in stop if len(ending)]
        tag_bytes(tag)  # refuses what is no tag
        if alternatives is not None and index(alternatives) < 0:
            raise UsageError(f"alternatives are counted from 0 on, or None: not {alternatives}")
        return Generation(
            request_id, prompt, max_new_tokens, sampling, ends, endings,
            tag=tag, priority=index(priority), alternatives=alternatives,
        )  # fmt: skip

    def room(self, prompt: int, branches: int = 1) -> int:
        """New tokens that each of so many answers to a prompt of so many tokens may ask for."""
        return self._limits.room(prompt, branches)

    def samples(self, stem: Generation, n: int, best_of: int | None, room: int) -> Samples:
        """`n` answers to the prompt of `stem`, or the best of more. room: how many sequences run at once."""
        n = index(n)
        count = n if best_of is None else index(best_of)
        if not 1 <= n <= count:
            raise UsageError(f"n is at least 1 and at most best_of, not {n} of {count}")
        if stem.sampling.greedy and count > 1:
            raise UsageError(f"{count} greedy answers would all be the same: they need a temperature")
        self._refuse_too_many(stem, count, room)
        return Samples(stem, n, count)

    def beams(
        self, stem: Generation, width: int, length_penalty: float, early_stopping: EarlyStopping, n: int, room: int
    ) -> BeamSearch:
        """A search with `width` beams from the prompt of `stem`."""
        width, n = index(width), index(n)
        if width < 2 or not 1 <= n <= width:
            raise UsageError(f"a beam search has at least 2 beams and returns 1 to as many, not {width} and {n}")
        if early_stopping not in (True, False, "never") or not math.isfinite(length_penalty):
            raise UsageError(
                f'early_stopping is True, False or "never", not {early_stopping!r}; '
                f"length_penalty a finite number, not {length_penalty}"
            )
        if len(stem.eos) >= self._paged.vocab_size:
            raise UsageError(f"{len(stem.eos)} of {self._paged.vocab_size} tokens end the answer: no beam could go on")
        self._refuse_too_many(stem, width, room)
        return BeamSearch(stem, width, float(length_penalty), early_stopping, n)

    def _refuse_too_many(self, stem: Generation, branches: int, room: int) -> None:
        if branches > room:
            raise UsageError(f"the request needs {branches} sequences at once, and at most {room} may run")
        self._limits.share(len(stem.prompt), stem.max_new_tokens, branches)

    def _refuse_senseless(self, prompt: list[int], max_new_tokens: int) -> None:
        if not prompt or max_new_tokens < 1:
            raise UsageError(
                f"a request has at least 1 token and asks for at least 1, not {len(prompt)} and {max_new_tokens}"
            )
        if not 0 <= min(prompt) <= max(prompt) < self._paged.vocab_size:
            raise UsageError(
                f"token ids go from 0 to {self._paged.vocab_size - 1}; the prompt has {min(prompt)} to {max(prompt)}"
            )
