"""What the engine is asked for a request's sake, or why it cannot be."""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.serve.engine import Engine

from .refusals import Refusal
from .schema import Chat, Completion
from .settings import Settings
from .ticket import Ask


def asks_for(
    body: Completion | Chat, prompts: Sequence[list[int]], engine: Engine, settings: Settings
) -> list[Ask]:
    """One `Ask` for each of `prompts`, token ids. `Refusal` if there are too many, or one has no room."""
    choices = len(prompts) * body.choices
    if not 1 <= choices <= settings.max_choices:
        sentence = f"A request has 1 to {settings.max_choices} answers; {choices} are asked for."
        raise Refusal(400, sentence, param="n" if prompts else "prompt")
    return [
        Ask(ids, body.choices, _limit(body, ids, engine, settings), body.sampling, body.stops, body.alternatives)
        for ids in prompts
    ]


def _limit(body: Completion | Chat, ids: list[int], engine: Engine, settings: Settings) -> int:
    """How many new tokens each answer to this prompt may get."""
    field = "messages" if isinstance(body, Chat) else "prompt"
    if not ids:
        raise Refusal(400, "The prompt has no token: it must say something.", param=field)
    room = engine.room(len(ids), 1 if body.sampling.greedy else body.choices)
    if body.limit is not None and body.limit > settings.max_tokens:
        sentence = f"max_tokens is at most {settings.max_tokens} on this server, not {body.limit}."
        raise Refusal(400, sentence, param="max_tokens")
    if room < (body.limit or 1):
        many = f", {body.choices} ways" * (body.choices > 1)
        wanted = f"{body.limit} are asked for" if body.limit else "1 is needed"
        sentence = f"The prompt has {len(ids)} tokens, which leaves room for {room} new ones{many}; {wanted}."
        raise Refusal(400, sentence, param=field, code="context_length_exceeded")
    return min(room, settings.max_tokens) if body.limit is None else body.limit
