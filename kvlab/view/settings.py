"""The four settings of the published table, with every number free to change, and the memory they lead to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kvlab.errors import UsageError
from kvlab.memory import CONTEXT, KV_BYTES, LLAMA_3_8B, MAX_ANSWER
from kvlab.view.kinds import FREE, HELD, LATER, UNUSED

CELLS = 4096  # squares in a memory map
POLICIES = ("full", "prompt+max", "16-token blocks", "own blocks")


class Knobs(NamedTuple):
    """Everything the sliders change. Lengths in tokens, `memory` in GiB, `answers` and `written` in percent."""

    context: int = CONTEXT
    max_answer: int = MAX_ANSWER
    answers: int = 100  # every answer of the trace this long, compared with the recorded one
    memory: int = KV_BYTES // 2**30
    block_size: int = 256  # of the setting "own blocks"
    written: int = 100  # how much of its answer each request has written at the moment that is shown
    token_bytes: int = LLAMA_3_8B.bytes_per_token

    def checked(self) -> Knobs:
        """Itself; `UsageError` where a number is below 1, or `written` not a percentage."""
        for name, value in self._asdict().items():
            if value < (0 if name == "written" else 1) or (name == "written" and value > 100):
                raise UsageError(f"cannot draw {name} = {value}")
        return self

    @property
    def capacity(self) -> int:
        """Slots for tokens in the memory."""
        return self.memory * 2**30 // self.token_bytes


class Row(NamedTuple):
    """One setting: share of what requests take that holds tokens, requests that fit, answers cut short of all."""

    label: str
    share_held: float
    fit: int
    cut: int


def label(policy: str, knobs: Knobs) -> str:
    """The setting in words with its numbers."""
    return {
        "full": f"reserve the full context ({knobs.context:,})",
        "prompt+max": f"reserve prompt + {knobs.max_answer:,}",
        "16-token blocks": "16-token blocks",
        "own blocks": f"{knobs.block_size:,}-token blocks",
    }[policy]


def lengths(requests: Iterable, knobs: Knobs) -> tuple[np.ndarray, np.ndarray, int]:
    """Prompts and answers under the knobs, and how many answers hit a limit and end early."""
    pairs = np.array([(request.prompt, request.answer) for request in requests], np.int64)
    prompt, wanted = pairs[:, 0], np.maximum(1, pairs[:, 1] * knobs.answers // 100)
    prompt = np.minimum(prompt, knobs.context - 1)
    answer = np.minimum(np.minimum(wanted, knobs.max_answer), knobs.context - prompt)
    return prompt, answer, int((answer < wanted).sum())


def allocated(policy: str, prompt: np.ndarray, answer: np.ndarray, knobs: Knobs) -> np.ndarray:
    """Slots each request takes when its answer has `answer` tokens."""
    if policy == "full":
        return np.full_like(prompt, knobs.context)
    if policy == "prompt+max":
        return np.minimum(prompt + knobs.max_answer, knobs.context)
    size = 16 if policy == "16-token blocks" else knobs.block_size
    return -(-(prompt + answer) // size) * size


def row(requests: Iterable, policy: str, knobs: Knobs) -> Row:
    """The published counting rule: lengths and what they take when every answer is complete."""
    prompt, answer, cut = lengths(requests, knobs)
    taken = int(allocated(policy, prompt, answer, knobs).sum())
    held = int(prompt.sum() + answer.sum())
    return Row(label(policy, knobs), held / taken, knobs.capacity * len(prompt) // taken, cut)


def memory_map(requests: Iterable, policy: str, knobs: Knobs) -> tuple[np.ndarray, dict[int, float]]:
    """States of `CELLS` equal pieces of memory with all requests that fit in it, one after another; and
    the shares of memory that they take on average over the trace.

    The trace starts again from its beginning where more requests fit than it has.
    """
    prompt, answer, _ = lengths(requests, knobs)
    final = allocated(policy, prompt, answer, knobs)
    order = np.arange(knobs.capacity * len(prompt) // int(final.sum())) % len(prompt)
    written = answer * knobs.written // 100
    now = allocated(policy, prompt, written, knobs)
    held = prompt + written
    later = np.minimum(now, prompt + answer) - held
    if policy.endswith("blocks"):  # what lies beyond the text in a last block belongs to this request alone
        later = np.minimum(later, now - held)
    parts = np.stack([held, later, now - held - later], axis=1)
    return _cells(parts[order], knobs.capacity), _shares(parts.mean(axis=0) * len(order) / knobs.capacity)


def _cells(parts: np.ndarray, capacity: int) -> np.ndarray:
    ends = parts.ravel().cumsum()
    middles = (np.arange(CELLS) + 0.5) * capacity / CELLS
    piece = np.searchsorted(ends, middles, side="right")
    return np.where(piece < len(ends), np.array([HELD, LATER, UNUSED])[piece % 3], FREE)


def _shares(parts: np.ndarray) -> dict[int, float]:
    held, later, unused = map(float, parts)
    return {HELD: held, LATER: later, UNUSED: unused, FREE: max(0.0, 1 - held - later - unused)}
