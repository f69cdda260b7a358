"""One choice of an answer as it grows: text that may be sent, how likely its tokens were, and why it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from transformers import PreTrainedTokenizerBase

from kvlab.serve.detokenize import Detokenizer, StopText
from kvlab.serve.request import Generation
from kvlab.serve.sampling import TokenScore


class Scored(NamedTuple):
    """A token of an answer, how likely it was, and the character of the answer's text at which it begins."""

    token: int
    score: TokenScore
    offset: int


class Piece(NamedTuple):
    """News of choice number `choice`.

    text, scored: what came. reason: why it ended, "stop" or "length", None if it goes on. tokens: how many it has by
    now, those included that have no text.
    """

    choice: int
    text: str
    scored: list[Scored]
    reason: str | None
    tokens: int


class Answer:
    """Choice number `index`, read from `generation` as that grows, and ended by any of the texts `stops`.

    A log-probability is sent with the first character of its token that is; that of the token that ends the model's
    turn is not sent.
    """

    def __init__(
        self, index: int, generation: Generation, tokenizer: PreTrainedTokenizerBase, stops: Sequence[str] = ()
    ) -> None:
        self.index, self.generation = index, generation
        self.reason: str | None = None
        self._detokenizer, self._stops = Detokenizer(tokenizer), StopText(stops)
        self._read = self._decoded = self._sent = 0  # tokens; characters that were decoded, and that were sent
        self._scored: list[Scored] = []

    def take(self) -> Piece | None:
        """What the tokens since the last call have led to, if anything that can be sent."""
        if self.reason is not None:
            return None
        text = ""
        while self._read < len(self.generation.tokens) and not self._stops.stopped:
            text += self._next()
        if self.generation.finished and not self._stops.stopped:
            text += self._stops.push(self._detokenizer.finish()) + self._stops.finish()
        if self._stops.stopped:
            self.reason = "stop"
        elif self.generation.finished:
            self.reason = "length" if self.generation.reason == "length" else "stop"
        self._sent += len(text)
        scored = self._release()
        if not text and not scored and self.reason is None:
            return None
        return Piece(self.index, text, scored, self.reason, self._read)

    def _next(self) -> str:
        token, place = self.generation.tokens[self._read], self._read
        self._read += 1
        if self.generation.alternatives is not None and token not in self.generation.eos:
            self._scored.append(Scored(token, self.generation.scores[place], self._decoded))
        piece = self._detokenizer.push(token)
        self._decoded += len(piece)
        return self._stops.push(piece)

    def _release(self) -> list[Scored]:
        """Scores of tokens whose text has been sent; at the end, also of those that have none."""
        whole = self.reason is not None and not self._stops.stopped
        count = len(self._scored) if whole else sum(entry.offset < self._sent for entry in self._scored)
        released, self._scored = self._scored[:count], self._scored[count:]
        return released
