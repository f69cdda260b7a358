"""The form of a recall question and of a "say it" prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Recall:
    """A question from an earlier lab. Either `choices` and the right letter as `answer`, or a number as `answer`.

    A number counts as right within `tolerance` (relative). `why` is one or two sentences, shown after any answer;
    `reasons` says for wrong letters, where it helps, what is wrong with just that choice.
    """

    key: str
    prompt: str
    answer: str | float
    why: str
    choices: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    tolerance: float = 0.01
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def lab(self) -> str:
        """The lab that asks the question: the digits the key starts with."""
        return self.key.split("-")[0]


@dataclass(frozen=True)
class Point:
    """One line of a rubric: what a good answer does, and the words by which a first guess ticks it."""

    text: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class SayIt:
    """A prompt to answer aloud within `seconds`, the rubric to tick afterwards, and a model answer to compare with.

    lab: its number; with a word behind it, as in "11-outputs", one more prompt of that lab.
    """

    lab: str
    prompt: str
    rubric: tuple[Point, ...]
    model: str
    seconds: int = 60
