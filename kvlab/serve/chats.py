"""Several users who chat at the same time: what a turn costs when its chat's blocks have been evicted meanwhile.

While a user reads an answer others are served, and a small pool has lost the conversation by the next question. Without
tiers all of it is computed again, with them it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from transformers import PreTrainedModel

from kvlab.errors import UsageError
from kvlab.memory import HostTier, Tier
from kvlab.models import EXAMPLE_ORDER

from .engine import Engine

MOST = 40
"""Tokens that an answer may have."""
QUESTIONS = ("Where is my courier?", "When will my order arrive?", "How much did I pay?", "Is there soy in it?")


class Chat(NamedTuple):
    """What one user says: a system message, and one question after the other."""

    system: str
    questions: tuple[str, ...]


class Turn(NamedTuple):
    """One answer. prompt: tokens of the whole chat up to its question; computed: how many of them were run.

    seconds: from the question to the first token of the answer. tokens: the answer.
    """

    user: int
    number: int
    prompt: int
    computed: int
    seconds: float
    tokens: list[int]


class Comparison(NamedTuple):
    """All turns of the same chats, without tiers and with them, in the order in which they were served."""

    without: list[Turn]
    tiered: list[Turn]

    @property
    def same_answers(self) -> bool:
        """Whether every token is the same (I12)."""
        return [turn.tokens for turn in self.without] == [turn.tokens for turn in self.tiered]

    def later(self, turns: list[Turn]) -> list[Turn]:
        """Those that have a turn before them, which is what there is to be loaded."""
        return [turn for turn in turns if turn.number]

    @property
    def computed(self) -> tuple[int, int]:
        """Prompt tokens computed for all turns but the first of each chat: without tiers, and with them."""
        without, tiered = (sum(turn.computed for turn in self.later(turns)) for turns in self)
        return without, tiered

    @property
    def speedup(self) -> float:
        """How many times as long the first token of such a turn takes without tiers: the ratio of the medians."""
        without, tiered = (median(turn.seconds for turn in self.later(turns)) for turns in self)
        return without / tiered


def courier_chats(users: int = 6, turns: int = 3) -> list[Chat]:
    """Users of courier, each with an order of their own and up to four questions about it."""
    if users < 1 or not 1 <= turns <= len(QUESTIONS):
        raise UsageError(f"at least 1 user and 1 to {len(QUESTIONS)} turns, not {users} and {turns}")
    return [Chat(EXAMPLE_ORDER.replace("979", str(200 + 17 * user)), QUESTIONS[:turns]) for user in range(users)]


def _turns(engine: Engine, tokenizer: Any, chats: Sequence[Chat], most: int) -> Iterator[Turn]:
    """Every user's first question, then every user's second, and so on; each turn is served before the next comes.

    A prompt is the whole chat: the tokens of the turn before, its answer as it was generated, and the new question.
    """
    said: list[list[dict[str, str]]] = [[{"role": "system", "content": chat.system}] for chat in chats]
    for number in range(max((len(chat.questions) for chat in chats), default=0)):
        for user, chat in enumerate(chats):
            if number < len(chat.questions):
                said[user].append({"role": "user", "content": chat.questions[number]})
                prompt = tokenizer.apply_chat_template(said[user], add_generation_prompt=True, return_dict=False)
                turn = _turn(engine, user, number, prompt, most)
                answer = tokenizer.decode(turn.tokens, skip_special_tokens=True)
                said[user].append({"role": "assistant", "content": answer})
                yield turn


def compare_chats(
    model: PreTrainedModel,
    tokenizer: Any,
    chats: Sequence[Chat],
    num_blocks: int,
    tiers: Callable[[], Sequence[Tier]] = lambda: [HostTier(4096)],
    block_size: int = 16,
    **options: Any,
) -> Comparison:
    """Serve the same chats from a pool of `num_blocks` blocks without tiers, and with what `tiers()` makes.

    options: for both engines. They take turns, since only the ratio of the two within one run says anything.
    """
    plain = Engine(model, num_blocks, block_size, prefix="hash", **options)
    with closing(Engine(model, num_blocks, block_size, prefix="hash", tiers=tiers(), **options)) as tiered:
        both = [_turns(engine, tokenizer, chats, MOST) for engine in (plain, tiered)]
        pairs = list(zip(*both, strict=True))
    return Comparison([without for without, _ in pairs], [with_tiers for _, with_tiers in pairs])


def _turn(engine: Engine, user: int, number: int, prompt: list[int], most: int) -> Turn:
    began, before = perf_counter(), engine.projected_tokens
    asked = engine.submit(prompt, most)
    while not asked.tokens:
        engine.step()
    seconds, computed = perf_counter() - began, engine.projected_tokens - before
    engine.run()
    engine.settle_tiers()  # the user reads the answer meanwhile
    return Turn(user, number, len(prompt), computed, seconds, asked.tokens)
