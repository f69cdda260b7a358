"""The recall questions and the "say it" prompts of every lab, in one place.

Add an entry to `RECALL` for each question; the key is the lab it *comes from* and a word, and the notebook that asks it
calls `recall("02-holes", ...)`, later `recall("02-holes", "b")`:

    Recall("02-holes", "An arena has 40 free slots and refuses a request for 30. How can that be?",
           choices={"a": "It keeps a reserve.", "b": "No single hole has 30 slots.", "c": "The request is too long."},
           answer="b", why="Free slots add up over holes; a request needs one hole. That is external fragmentation."),
    Recall("01-kib", "How many KiB does a token cost in Llama-3-8B?", answer=128, unit="KiB",
           why="2 (K and V) x 32 layers x 8 KV heads x 128 numbers x 2 bytes."),

and an entry to `SAY_IT` for each lab; the notebook calls `say_it("03", ...)`. A point of the rubric is ticked by itself
if one of its `words` (lower case, parts of words do) is in the learner's text, and the learner can correct the tick:

    SayIt("03", "Explain to a colleague, in 30 seconds, why blocks waste less than reservations.",
          rubric=(Point("names the waste of reserving: internal and external", ("intern", "extern", "reserv")),
                  Point("says at most one block per sequence is partly empty", ("last block", "one block", "partly"))),
          model="Reserving holds room for tokens that may never come ...", seconds=30),
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Recall:
    """A question from an earlier lab. Either `choices` and the right letter as `answer`, or a number as `answer`.

    A number counts as right within `tolerance` (relative). `why` is one or two sentences, shown after any answer.
    """

    key: str
    prompt: str
    answer: str | float
    why: str
    choices: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    tolerance: float = 0.01

    @property
    def lab(self) -> str:
        """The lab the question comes from: the digits the key starts with."""
        return self.key.split("-")[0]


@dataclass(frozen=True)
class Point:
    """One line of a rubric: what a good answer does, and the words by which a first guess ticks it."""

    text: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class SayIt:
    """A prompt to answer aloud within `seconds`, the rubric to tick afterwards, and a model answer to compare with."""

    lab: str
    prompt: str
    rubric: tuple[Point, ...]
    model: str
    seconds: int = 60


RECALL: list[Recall] = []

SAY_IT: list[SayIt] = []
