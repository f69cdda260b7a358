"""What the requests of a simulated trace say, so that an index finds in them what it would find in a real server."""

from __future__ import annotations

import numpy as np

from kvlab.memory import History, Trace, answer_tokens, prompt_tokens

VOCABULARY = 32_000
UNSAID = 2**40  # texts of answers that nobody repeats are numbered from here on


class Texts:
    """What the requests of a trace say, token by token, as far as it is known at any time."""

    def __init__(self, trace: Trace) -> None:
        self._requests, self._whole = trace.requests, dict[int, list[int]]()
        self._said: dict[int, History] = {}

    def said(self, number: int, length: int) -> History:
        """The first `length` tokens of request `number`, or more if more have been asked for before."""
        if number not in self._whole:
            self._whole[number] = self._make(number)
            self._said[number] = History(self._whole[number][: self._requests[number].prompt])
        history = self._said[number]
        if len(history) < length:
            history.extend(self._whole[number][len(history) : length])
        return history

    def _make(self, number: int) -> list[int]:
        request = self._requests[number]
        if request.says is None:
            random = np.random.default_rng(UNSAID + number)
            answer = random.integers(VOCABULARY, size=request.answer, dtype=np.int32)
        else:
            answer = answer_tokens(request, VOCABULARY)
        return [*prompt_tokens(request, VOCABULARY).tolist(), *answer.tolist()]
