"""What a client has asked for, on its way through the engine: the prompts, and what is made of them there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from kvlab.serve.group import Group
from kvlab.serve.request import Generation
from kvlab.serve.sampling import Sampling

from .answer import Answer, Piece
from .refusals import Refusal


class Ask(NamedTuple):
    """One prompt: its tokens, how many answers it gets, of how many tokens each, how these are sampled and ended.

    stops: texts that end an answer. alternatives: see `Engine.submit`.
    """

    prompt: Sequence[int]
    n: int
    max_new_tokens: int
    sampling: Sampling
    stops: Sequence[str] = ()
    alternatives: int | None = None


class Ticket:
    """A client's request while it is served: one or more `asks`, whose choices are numbered through.

    inbox: pieces, and at last None, or a `Refusal`.
    """

    def __init__(self, asks: Sequence[Ask]) -> None:
        self.asks = asks
        self.inbox: asyncio.Queue[Piece | Refusal | None] = asyncio.Queue()
        self.answers: list[Answer] = []
        self.requests: list[Generation | Group] = []
