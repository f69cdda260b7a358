"""Answers in OpenAI's format: whole, and as the chunks of a stream."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from time import time
from typing import Any

import kvlab

from .answer import Piece, Scored
from .texts import Texts

LOWEST = -9999.0  # what stands for the logarithm of 0, which JSON cannot write


class Shape:
    """The frame of one answer. prompt_tokens: of all prompts. prefixes: what stands before each choice, if anything."""

    object = chunk_object = prefix = ""

    def __init__(
        self, model: str, texts: Texts, prompt_tokens: int, scored: bool, prefixes: Sequence[str] = ()
    ) -> None:
        self.texts, self.prompt_tokens, self.scored, self.prefixes = texts, prompt_tokens, scored, prefixes
        self._frame = {
            "id": f"{self.prefix}-{uuid.uuid4().hex}",
            "created": int(time()),
            "model": model,
            "system_fingerprint": f"kvlab-{kvlab.__version__}",
        }

    def whole(self, choices: Sequence[Piece]) -> dict[str, Any]:
        """The answer with all its choices, each in one piece."""
        found = [self._choice(self._with_prefix(choice)) for choice in choices]
        return {**self._frame, "object": self.object, "choices": found, "usage": self.usage(choices)}

    def chunk(self, piece: Piece) -> dict[str, Any]:
        """A chunk of a stream."""
        return {**self._frame, "object": self.chunk_object, "choices": [self._part(piece)]}

    def opening(self, choices: int) -> list[dict[str, Any]]:
        """Chunks that come before the others."""
        pieces = [self._with_prefix(Piece(index, "", [], None, 0)) for index in range(choices if self.prefixes else 0)]
        return [self.chunk(piece) for piece in pieces]

    def closing(self, choices: Sequence[Piece]) -> dict[str, Any]:
        """The chunk that says what was used."""
        return {**self._frame, "object": self.chunk_object, "choices": [], "usage": self.usage(choices)}

    def usage(self, choices: Sequence[Piece]) -> dict[str, int]:
        """Tokens of prompts and answers; those that have no text count too."""
        new = sum(choice.tokens for choice in choices)
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": new,
            "total_tokens": self.prompt_tokens + new,
        }

    def _with_prefix(self, piece: Piece) -> Piece:
        return piece._replace(text=self.prefixes[piece.choice] + piece.text) if self.prefixes else piece

    def _choice(self, piece: Piece) -> dict[str, Any]:
        raise NotImplementedError

    def _part(self, piece: Piece) -> dict[str, Any]:
        raise NotImplementedError


class CompletionShape(Shape):
    """The format of /v1/completions."""

    object = chunk_object = "text_completion"
    prefix = "cmpl"

    def _choice(self, piece: Piece) -> dict[str, Any]:
        found = self._logprobs(piece.scored) if self.scored else None
        return {"index": piece.choice, "text": piece.text, "logprobs": found, "finish_reason": piece.reason}

    _part = _choice

    def _logprobs(self, scored: list[Scored]) -> dict[str, Any]:
        best: list[dict[str, float]] = [{} for _ in scored]
        for found, entry in zip(best, scored, strict=True):
            for token, logprob in entry.score.best:
                found.setdefault(self.texts.token(token)[0], _plain(logprob))
            if found:  # the token itself too, as OpenAI has it
                found.setdefault(self.texts.token(entry.token)[0], _plain(entry.score.logprob))
        return {
            "tokens": [self.texts.token(entry.token)[0] for entry in scored],
            "token_logprobs": [_plain(entry.score.logprob) for entry in scored],
            "top_logprobs": best if any(best) else None,
            "text_offset": [entry.offset for entry in scored],
        }


class ChatShape(Shape):
    """The format of /v1/chat/completions."""

    object, chunk_object, prefix = "chat.completion", "chat.completion.chunk", "chatcmpl"

    def opening(self, choices: int) -> list[dict[str, Any]]:
        """Whose turn it is."""
        delta = {"role": "assistant", "content": ""}
        return [
            {**self.chunk(Piece(index, "", [], None, 0)), "choices": [self._around(index, None, delta=delta)]}
            for index in range(choices)
        ]

    def _choice(self, piece: Piece) -> dict[str, Any]:
        message = {"role": "assistant", "content": piece.text, "refusal": None}
        return self._around(piece.choice, piece.reason, self._logprobs(piece), message=message)

    def _part(self, piece: Piece) -> dict[str, Any]:
        delta = {"content": piece.text} if piece.text else {}
        return self._around(piece.choice, piece.reason, self._logprobs(piece), delta=delta)

    def _around(self, index: int, reason: str | None, logprobs: Any = None, **said: Any) -> dict[str, Any]:
        return {"index": index, **said, "logprobs": logprobs, "finish_reason": reason}

    def _logprobs(self, piece: Piece) -> dict[str, Any] | None:
        if not self.scored:
            return None
        content = [
            self._token(entry.token, entry.score.logprob)
            | {"top_logprobs": [self._token(token, logprob) for token, logprob in entry.score.best]}
            for entry in piece.scored
        ]
        return {"content": content, "refusal": None}

    def _token(self, token: int, logprob: float) -> dict[str, Any]:
        text, found = self.texts.token(token)
        return {"token": text, "logprob": _plain(logprob), "bytes": list(found)}


def _plain(logprob: float) -> float:
    return logprob if logprob > LOWEST else LOWEST
