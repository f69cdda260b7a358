"""What is measured: facts copied, things made up, well-formed sentences, lengths, perplexity."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from kvlab.models.training.answers import CAP, Answer
from kvlab.models.training.batches import IGNORED, encode, pad
from kvlab.models.training.conversations import Chat, chats
from kvlab.models.training.grammar import Turn
from kvlab.models.training.orders import RULES
from kvlab.models.training.words import ALLERGENS, COURIERS, DISHES, MENUS, PROMOS, STREETS

_CLASSES = {
    "ALLERGEN": ALLERGENS, "COURIER": COURIERS, "DISH": DISHES,
    "RESTAURANT": tuple(MENUS), "PROMO": PROMOS, "STREET": STREETS,
}
_CLASS_OF = {name: key for key, names in _CLASSES.items() for name in names}


def _any_of(names: Iterable[str]) -> str:
    return r"\b(?:" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + r")\b"


_CLAIM = re.compile(
    r"\b\d{2}:\d{2}\b|\b\d+ euros|\b\d{3}\b|\b\d+ minutes|\b\d+ x \w+|"
    + _any_of((*COURIERS, *MENUS, *PROMOS, *STREETS))
)
_ANY = re.compile(_any_of(_CLASS_OF) + r"|\d+")
_SEVERAL = re.compile(r"((?:# x )?(?:ALLERGEN|DISH))(?:, \1)*(?: and \1)")


def facts_right(turns: list[Turn], answers: list[Answer]) -> tuple[int, int]:
    """`(right, all)`: the facts that the answers had to contain, and how many of them they do."""
    found = [fact in answer.text for turn, answer in zip(turns, answers, strict=True) for fact in turn.facts]
    return sum(found), len(found)


def claims(text: str, system: str) -> tuple[int, int]:
    """`(right, all)`: the names, times, prices and counts that an answer states, and those that the order contains."""
    stated = _CLAIM.findall(text)
    known = f"{system} {RULES}"
    return sum(claim in known for claim in stated), len(stated)


def shape(sentence: str) -> str:
    """A sentence with its names, numbers and enumerations taken out: `COURIER is on the way to # STREET.`"""
    return _SEVERAL.sub(r"\1", _ANY.sub(lambda found: _CLASS_OF.get(found[0], "#"), sentence))


def sentences(text: str) -> list[str]:
    """The sentences and lines of an answer."""
    return [part.strip() for part in re.split(r"(?<=\w\w[.?:])\s+|\n", text) if part.strip()]


@cache
def known_shapes(count: int = 12000) -> frozenset[str]:
    """The shapes of all sentences in so many training conversations."""
    texts = (turn.answer for chat in islice(chats(3), count) for turn in chat.turns)
    return frozenset(shape(part) for text in texts for part in sentences(text))


def well_formed(answers: list[Answer]) -> tuple[int, int]:
    """`(right, all)`: sentences whose shape the generator writes too."""
    parts = [shape(part) in known_shapes() for answer in answers for part in sentences(answer.text)]
    return sum(parts), len(parts)


def lengths(tokens: list[int]) -> dict[str, float]:
    """Mean, percentiles and extremes of lengths in tokens."""
    median, p90, p99 = (round(float(value), 1) for value in np.percentile(tokens, (50, 90, 99)))
    return {
        "count": len(tokens), "mean": round(float(np.mean(tokens)), 1), "median": median, "p90": p90, "p99": p99,
        "shortest": min(tokens), "longest": max(tokens),
    }


def by_kind(turns: list[Turn], answers: list[Answer]) -> dict[str, dict[str, float]]:
    """Lengths and facts for each kind of question, from the shortest mean answer to the longest."""
    rows = {}
    for kind in {turn.kind for turn in turns}:
        asked = [place for place, turn in enumerate(turns) if turn.kind == kind]
        said = [answers[place] for place in asked]
        right, count = facts_right([turns[place] for place in asked], said)
        rows[kind] = lengths([each.tokens for each in said]) | {"facts": count, "facts_right": right}
    return dict(sorted(rows.items(), key=lambda row: (row[1]["mean"], row[0])))


def _share(right: int, count: int) -> dict[str, float]:
    return {"right": right, "all": count, "percent": round(100 * right / count, 1)}


def summary(turns: list[Turn], systems: list[str], answers: list[Answer]) -> dict[str, Any]:
    """All measures of a set of answers, as shares and counts."""
    stated = [claims(answer.text, system) for answer, system in zip(answers, systems, strict=True)]
    shares = {
        "facts": facts_right(turns, answers),
        "claims": (sum(right for right, _ in stated), sum(count for _, count in stated)),
        "sentences": well_formed(answers), "ended": (sum(answer.ended for answer in answers), len(answers)),
    }
    return {
        "answers": len(answers), "cap": CAP, "shares": {name: _share(*share) for name, share in shares.items()},
        "lengths": lengths([answer.tokens for answer in answers]), "kinds": by_kind(turns, answers),
    }


@torch.inference_mode()
def perplexity(model: Any, tokenizer: Any, held_out: list[Chat]) -> float:
    """exp of the mean loss per answer token."""
    total, count = 0.0, 0
    for start in range(0, len(held_out), 16):
        ids, targets = pad([encode(chat, tokenizer) for chat in held_out[start : start + 16]], tokenizer.pad_token_id)
        wanted = targets != IGNORED
        logits = model(input_ids=ids).logits[wanted].float()
        total += float(F.cross_entropy(logits, targets[wanted], reduction="sum"))
        count += int(wanted.sum())
    return math.exp(total / count)
