"""What callers ask an engine for: one answer, several samples of one prompt, or a beam search; and to let go of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from .beam import BeamSearch, EarlyStopping
from .desk import Desk
from .group import Group
from .line import Line
from .parallel import Samples
from .request import Generation
from .sampling import GREEDY, SAMPLED, Sampling
from .scheduler import Scheduler


class Submissions:
    """The part of an engine that takes requests and lets go of them, also while a step runs.

    What could never run, or makes no sense, never gets into its line.
    """

    scheduler: Scheduler
    _line: Line
    _desk: Desk
    _in_step = False

    def _settle(self) -> None:
        """Carry out what the last step has decided."""
        raise NotImplementedError

    def submit(
        self,
        prompt: Sequence[int],
        max_new_tokens: int = 128,
        sampling: Sampling = GREEDY,
        *,
        eos: Iterable[int] | None = None,
        stop: Iterable[Sequence[int]] = (),
        request_id: Hashable = None,
        tag: tuple[Hashable, ...] = (),
        priority: int = 0,
        alternatives: int | None = None,
    ) -> Generation:
        """Queue a request. Refused at once: `NeverFits` if it could never run, `UsageError` if it makes no sense.

        prompt: token ids, at least one. eos: ids that end the answer; by default the model's own, `()` for none.
        stop: sequences of ids that do. request_id: by default a number of its own. tag: what keys and values depend on
        beside the tokens (adapter, salt, images); only requests with the same tag share a prefix. priority: the
        smaller, the sooner, if the engine's policies look at it. alternatives: keep for each token how likely it was
        and so many of the most likely, in `Generation.scores`.
        """
        generation = self._desk.single(
            self._line.names(), prompt, max_new_tokens, sampling,
            eos=eos, stop=stop, request_id=request_id, tag=tag, priority=priority, alternatives=alternatives,
        )  # fmt: skip
        self._line.join(generation)
        return generation

    def sample(
        self,
        prompt: Sequence[int],
        n: int,
        max_new_tokens: int = 128,
        sampling: Sampling = SAMPLED,
        *,
        best_of: int | None = None,
        **options: Any,
    ) -> Samples:
        """Queue `n` sampled answers to one prompt, which runs once; or the `n` best of `best_of`, see `Samples.best`.

        options: `eos`, `stop`, `request_id`, `tag`, `priority` and `alternatives`, as for `submit`. Greedy answers,
        which would be the same, are refused.
        """
        stem = self._desk.single(self._line.names(), prompt, max_new_tokens, sampling, **options)
        samples = self._desk.samples(stem, n, best_of, self.max_running)
        self._line.join(stem)
        return samples

    def beam(
        self,
        prompt: Sequence[int],
        width: int,
        max_new_tokens: int = 128,
        *,
        length_penalty: float = 1.0,
        early_stopping: EarlyStopping = False,
        num_return: int = 1,
        **options: Any,
    ) -> BeamSearch:
        """Queue a beam search: what `generate(num_beams=width, do_sample=False, ...)` finds for this prompt.

        options: `eos`, `request_id`, `tag` and `priority`, as for `submit`. All beams run in one step, so `width` is at
        most `max_running` and `token_budget`.
        """
        stem = self._desk.single(self._line.names(), prompt, max_new_tokens, **options)
        room = min(self.max_running, self.token_budget)
        search = self._desk.beams(stem, width, length_penalty, early_stopping, num_return, room)
        self._line.join(stem)
        return search

    def abort(self, request: Generation | Group) -> None:
        """End a request now, or one sample of several, and give its blocks back. What has ended already stays so.

        It may wait, run, or be swapped out. One that has not ended and is not this engine's is refused with
        `UsageError`.
        """
        self._end(request, "aborted")

    def stop(self, generation: Generation) -> None:
        """End a request, or one sample of several, that has said what its caller waited for.

        As `abort`, but its reason is "stop", and it counts among those that finished.
        """
        self._end(generation, "stop")

    def _end(self, request: Generation | Group, reason: str) -> None:
        if request.finished:
            return
        self._line.refuse_stranger(request)
        if self._in_step:  # which frees at its end
            self._line.abort(request, reason)
            return
        self._settle()
        self._line.abort(request, reason)
        self._line.retire()

    def room(self, prompt: int, n: int = 1) -> int:
        """New tokens that each of `n` answers to a prompt of so many tokens may ask for: 0 if it can never run."""
        return self._desk.room(prompt, n)

    @property
    def max_running(self) -> int:
        """Sequences that run at once, at most."""
        return self.scheduler.max_running

    @max_running.setter
    def max_running(self, most: int) -> None:
        self.scheduler.max_running = most

    @property
    def token_budget(self) -> int:
        """Tokens of one step, at most."""
        return self.scheduler.token_budget

    @token_budget.setter
    def token_budget(self, most: int) -> None:
        self.scheduler.token_budget = most

    @property
    def waiting(self) -> list[Generation]:
        """Requests that are to be admitted, or swapped in again, in order; a stem stands for all its branches."""
        return self.scheduler.waiting

    @property
    def running(self) -> list[Generation]:
        """Sequences that have been admitted and have not ended, in order."""
        return self.scheduler.running
