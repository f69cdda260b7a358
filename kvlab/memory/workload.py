"""Requests and traces: what a server is asked, the same on every machine, kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from kvlab.errors import UsageError

Segments = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One request: lengths in tokens, arrival in seconds, and what its prompt is made of.

    `segments` are `(seed, length)` pairs that add up to the prompt: each stands for the first `length` tokens of an
    endless text numbered `seed`, so that prompts which begin with equal segments begin with equal tokens. Empty:
    nothing is known. `says` is the number of the text whose first `answer` tokens the answer is, None if nobody ever
    asks again. Anything else (an empty prompt, negative numbers, segments that do not add up) raises
    `UsageError`.
    """

    prompt: int
    answer: int
    arrival: float = 0.0
    segments: Segments = ()
    says: int | None = None

    def __post_init__(self) -> None:
        _whole("prompt", self.prompt, 1)
        _whole("answer", self.answer, 0)
        if isinstance(self.arrival, bool) or not isinstance(self.arrival, int | float) or not 0 <= self.arrival < inf:
            raise UsageError(f"arrival is a time in seconds from 0 on, not {self.arrival!r}")
        _whole("the number of the answer's text", self.says or 0, 0)
        for seed, length in self.segments:
            _whole("a segment's seed", seed, 0)
            _whole("a segment's length", length, 0)
        covered = sum(length for _, length in self.segments)
        if self.segments and covered != self.prompt:
            raise UsageError(f"the segments have {covered} tokens, the prompt has {self.prompt}")

    @property
    def total(self) -> int:
        """Tokens that the request holds when it ends."""
        return self.prompt + self.answer


def prompt_tokens(request: Request, vocabulary: int) -> np.ndarray:
    """The prompt's token ids, int32 from 0 to `vocabulary - 1`, made from its segments. None known: `UsageError`."""
    if vocabulary < 1:
        raise UsageError(f"a vocabulary has at least 1 token, not {vocabulary}")
    if not request.segments:
        raise UsageError("this request has no segments to make tokens from, only lengths")
    return np.concatenate([_text(seed, length, vocabulary) for seed, length in request.segments])


def answer_tokens(request: Request, vocabulary: int) -> np.ndarray:
    """The answer's token ids, int32, as later prompts repeat them. Without `says`: `UsageError`."""
    if request.says is None:
        raise UsageError("nothing is known of this request's answer but its length")
    return _text(request.says, request.answer, vocabulary)


def _text(seed: int, length: int, vocabulary: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(vocabulary, size=length, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Trace:
    """A named sequence of requests in order of arrival; another order raises `UsageError`."""

    name: str
    requests: tuple[Request, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", tuple(self.requests))
        arrival = 0.0
        for number, request in enumerate(self.requests):
            if request.arrival < arrival:
                raise UsageError(
                    f"request {number} arrives at {request.arrival} s, after one that arrives at {arrival} s"
                )
            arrival = request.arrival

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests)

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON, one request a line: prompt, answer, and the rest if there is any."""
        rows = ",\n".join(json.dumps(_to_json(request)) for request in self.requests)
        Path(path).write_text(f'{{"name": {json.dumps(self.name)}, "requests": [\n{rows}\n]}}\n', encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read what `save` wrote; anything else raises `UsageError` with the file, the request and what is wrong."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:  # malformed JSON and bytes that are not UTF-8
            raise UsageError(f"{path} is not JSON: {error}") from None
        if (
            not isinstance(data, dict)
            or not isinstance(data.get("name"), str)
            or not isinstance(data.get("requests"), list)
        ):
            raise UsageError(f'{path} is not a trace: it needs an object with a "name" and a list of "requests"')
        requests = [_from_json(row, f"{path}, request {number}") for number, row in enumerate(data["requests"])]
        try:
            return cls(data["name"], tuple(requests))
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None


def make_trace(name: str, prompts: Iterable[int], answers: Iterable[int]) -> Trace:
    """A trace of bare lengths, all there from the start."""
    return Trace(
        name, tuple(Request(int(prompt), int(answer)) for prompt, answer in zip(prompts, answers, strict=True))
    )


def _whole(what: str, number: Any, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise UsageError(f"{what} is a whole number from {least} on, not {number!r}")


def _to_json(request: Request) -> dict[str, Any]:
    row: dict[str, Any] = {"prompt": request.prompt, "answer": request.answer}
    if request.arrival:
        row["arrival"] = request.arrival
    if request.segments:
        row["segments"] = [list(segment) for segment in request.segments]
    if request.says is not None:
        row["says"] = request.says
    return row


def _from_json(row: Any, where: str) -> Request:
    allowed = {"prompt", "answer", "arrival", "segments", "says"}
    if not isinstance(row, dict) or not {"prompt", "answer"} <= row.keys() <= allowed:
        raise UsageError(
            f"{where}: needs an object with prompt and answer, perhaps arrival, segments and says, not {row!r:.60}"
        )
    segments = row.get("segments", [])
    if not isinstance(segments, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in segments):
        raise UsageError(f"{where}: segments are a list of [seed, length] pairs, not {segments!r:.60}")
    try:
        pairs = tuple((seed, n) for seed, n in segments)
        return Request(row["prompt"], row["answer"], row.get("arrival", 0.0), pairs, row.get("says"))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
