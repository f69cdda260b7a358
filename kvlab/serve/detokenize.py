"""Text from tokens as they come: never half a character, and never the text that ends an answer."""

from __future__ import annotations

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

INCOMPLETE = "\N{REPLACEMENT CHARACTER}"  # what bytes that make no character, or not yet, are decoded to
LONGEST = 4  # bytes of a character in UTF-8, and so the most tokens that one may be spread over


class Detokenizer:
    """The text of one answer, piece by piece. Special tokens have none.

    The tokens of the piece before are decoded again with it, since a token's text may depend on what stands before:
    many tokenizers drop a space where a text begins.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._special = frozenset(tokenizer.all_special_ids)
        self._before: list[int] = []
        self._before_text = ""
        self._pending: list[int] = []

    def push(self, token: int) -> str:
        """What a further token adds: nothing while the last character is incomplete."""
        if token in self._special and not self._pending:
            return ""  # and what stood before it still stands before what comes next
        self._pending.append(token)
        text = self._text_of(self._before + self._pending)
        if not text.endswith(INCOMPLETE):
            return self._release(len(self._pending), text)
        return self._release_garbage(text)

    def finish(self) -> str:
        """What is left at the end: of bytes that never became a character, a sign that says so."""
        return self._release(len(self._pending), self._text_of(self._before + self._pending))

    def _release_garbage(self, text: str) -> str:
        """Bytes that no further token can complete, so that what is held back stays short."""
        count = len(self._pending) - LONGEST
        if count < 1:
            return ""
        head = self._text_of(self._before + self._pending[:count])
        return self._release(count, head) if text.startswith(head) else ""

    def _release(self, count: int, text: str) -> str:
        piece = text[len(self._before_text) :]
        self._before, self._pending = self._pending[:count], self._pending[count:]
        self._before_text = self._text_of(self._before)
        return piece

    def _text_of(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=True)) if ids else ""


class StopText:
    """Lets text through up to the first of the `stops`, none of which may be empty; that is the one which ends first.

    What may be the beginning of one is held back. stopped: whether one has come.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._held = ""
        self.stopped = False

    def push(self, piece: str) -> str:
        """What may be sent now that `piece` has come; after a stop nothing is."""
        if self.stopped:
            return ""
        if not self._stops:
            return piece
        self._held += piece
        found = ((self._held.find(stop), stop) for stop in self._stops)
        ends = [(at + len(stop), at) for at, stop in found if at >= 0]
        self.stopped = bool(ends)
        safe = min(ends)[1] if ends else len(self._held) - self._beginning()
        sent, self._held = self._held[:safe], "" if self.stopped else self._held[safe:]
        return sent

    def finish(self) -> str:
        """What was held back and turned out to be no stop."""
        held, self._held = self._held, ""
        return held

    def _beginning(self) -> int:
        """Characters at the end of what is held that may be the beginning of a stop."""
        longest = max(map(len, self._stops)) - 1
        for length in range(min(longest, len(self._held)), 0, -1):
            if any(stop.startswith(self._held[-length:]) for stop in self._stops):
                return length
        return 0
