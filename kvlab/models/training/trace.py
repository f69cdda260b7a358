"""courier's own trace: lengths of requests that it answered."""

from __future__ import annotations

from random import Random
from typing import Any

from kvlab.memory import Request, Trace
from kvlab.models.training.answers import answer
from kvlab.models.training.conversations import WEIGHTS, draw_turn
from kvlab.models.training.orders import draw_order, instructions


class _Talk:
    """A chat that grows by the model's own answers, and the segments its prompt is made of."""

    def __init__(self, r: Random, number: int) -> None:
        self.order, self.number = draw_order(r, held_out=True), number
        self.rows = [{"role": "system", "content": instructions(r, self.order)}]
        self.segments: list[list[int]] = []
        self.turns = r.choices((1, 2, 3, 4), (40, 30, 20, 10))[0]

    def ask(self, r: Random, tokenizer: Any) -> None:
        """Put the next question; the new part of the prompt becomes a segment."""
        self.rows.append({"role": "user", "content": draw_turn(r, self.order, WEIGHTS).question})
        whole = len(tokenizer.apply_chat_template(self.rows, add_generation_prompt=True, return_dict=False))
        self._grow(whole - sum(length for _, length in self.segments))

    def hear(self, text: str, tokens: int) -> None:
        """Put the answer, whose tokens become a segment."""
        self.rows.append({"role": "assistant", "content": text})
        self._grow(tokens)

    def _grow(self, length: int) -> None:
        self.segments.append([1 + 100 * self.number + len(self.segments), length])


def draw(model: Any, tokenizer: Any, talks: int = 120, seed: int = 11, temperature: float = 0.8) -> Trace:
    """The lengths of all requests of so many chats, first turns first."""
    r = Random(seed)
    open_talks = [_Talk(r, number) for number in range(talks)]
    requests: list[Request] = []
    while open_talks:
        for talk in open_talks:
            talk.ask(r, tokenizer)
        answers = answer(model, tokenizer, [talk.rows for talk in open_talks], temperature, seed)
        for talk, said in zip(open_talks, answers, strict=True):
            segments = tuple((seed, length) for seed, length in talk.segments)
            requests.append(Request(said.prompt, said.tokens, segments=segments))
            talk.hear(said.text, said.tokens)
        open_talks = [talk for talk in open_talks if len(talk.segments) < 2 * talk.turns]
    return Trace("courier", tuple(requests))
