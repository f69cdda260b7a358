"""The brute-force model behind the host tier exercise: who is stored, being stored and pinned, and in which order."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from kvlab.course.declare import Wrong, shows
from kvlab.course.exercises.scenarios import is_count, refused
from kvlab.course.shorten import show
from kvlab.errors import KVLabError, UsageError

Operation = tuple[str, str]  # (a method's name, a key)
Value = tuple[int, tuple[Operation, ...]]  # places, operations


class TierModel:
    """`stored` holds the keys that can be found, the least recently used first; `places` who has which place."""

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self.stored: list[str] = []
        self.storing: list[str] = []
        self.pins: Counter[str] = Counter()
        self.places: dict[str, int] = {}

    def victim(self) -> str | None:
        return next((key for key in self.stored if not self.pins[key]), None)

    def begins(self, key: str) -> bool:
        """Whether a store of `key` may begin."""
        known = key in self.stored or key in self.storing
        full = len(self.stored) + len(self.storing) == self.num_blocks
        return not known and (not full or self.victim() is not None)

    def makes_sense(self, operation: Operation) -> bool:
        """Whether the operation is one that a caller may ask for; a pin may be refused."""
        kind, key = operation
        allowed = {"store_done": self.storing, "touch": self.stored, "unpin": +self.pins}
        return kind not in allowed or key in allowed[kind]

    def apply(self, operation: Operation) -> None:
        """Does what the operation does, if it is not refused."""
        kind, key = operation
        if kind == "store_begin" and self.begins(key):
            if len(self.stored) + len(self.storing) == self.num_blocks:
                gone = self.victim()
                self.stored = [other for other in self.stored if other != gone]
                self.places = {other: place for other, place in self.places.items() if other != gone}
            self.storing.append(key)
        elif kind == "store_done":
            self.storing.remove(key)
            self.stored.append(key)
        elif kind == "touch":
            self.stored.remove(key)
            self.stored.append(key)
        elif kind == "unpin" or kind == "pin" and key in self.stored:
            self.pins[key] += 1 if kind == "pin" else -1


def run(part: Any, value: Value) -> None:
    """Every operation on the learner's tier and on the model; `Wrong` at the first difference."""
    num_blocks, operations = value
    tier, model, known = part(num_blocks), TierModel(num_blocks), list(dict.fromkeys(key for _, key in operations))
    with shows(lambda: render((num_blocks, ()))):
        _same_finds(tier, model, known, "at the start")
    for done, operation in enumerate(operations, 1):
        with shows(partial(render, (num_blocks, operations[:done]))):
            _step(tier, model, operation)
            model.apply(operation)
            kind, key = operation
            _same_finds(tier, model, known, f"after {kind}({key!r})")


def _step(tier: Any, model: TierModel, operation: Operation) -> None:
    kind, key = operation
    call = f"{kind}({key!r})"
    if kind == "store_begin":
        _begin(tier, model, key, call)
    elif kind == "pin" and key not in model.stored:
        why = "its store is not done" if key in model.storing else "it is not in the tier"
        refused(lambda: tier.pin(key), call, UsageError, why)
    elif kind == "pin":
        got = tier.pin(key)
        if not is_count(got) or got != model.places[key]:
            raise Wrong(f"{call} returned {show(got, 30)}, expected {model.places[key]}, the place that its store got.",
                        next="return its place")
    else:
        getattr(tier, kind)(key)


def _begin(tier: Any, model: TierModel, key: str, call: str) -> None:
    if not model.begins(key):
        why = ("it is stored already" if key in model.stored else "it is being stored already"
               if key in model.storing else "every other block is pinned or being stored")
        try:
            got = tier.store_begin(key)
        except KVLabError as refusal:
            raise Wrong(f"{call} raised {type(refusal).__name__}, expected None: {why}.",
                        next="return None; a block that is not stored costs time, and no answer",
                        alike=(call, "raised")) from None
        if got is not None:
            raise Wrong(f"{call} returned {show(got, 30)}, expected None: {why}.",
                        alike=(call, "a place" if is_count(got) else show(got, 30)))
        return
    gone = model.victim() if len(model.stored) + len(model.storing) == model.num_blocks else None
    got = tier.store_begin(key)
    held = {place: other for other, place in model.places.items() if other != gone}
    if got is None:
        room = f"{gone!r} may leave" if gone else "a place is free"
        raise Wrong(f"{call} returned None, expected a place: {room}.",
                    next="make the least recently used leave" if gone else "return the place that it got")
    if not is_count(got) or not 0 <= got < model.num_blocks:
        raise Wrong(f"{call} returned {show(got, 30)}, expected a place from 0 to {model.num_blocks - 1}.",
                    next="return one of the places that are free", alike=(call, "no place"))
    left = [other for other in model.stored if other not in tier]
    if gone is not None and not left:
        raise Wrong(f"{call} returned a place, and {gone!r}, which should have left for it, is still found.",
                    next="whoever leaves is found no more")
    if left != [gone] * (gone is not None):
        raise Wrong(f"{call} made {_named(left)} leave, expected {repr(gone) if gone else 'nobody: a place is free'}.",
                    next="the least recently used leaves, that one alone" if gone else "look for a free place")
    if got in held:
        state = "is being stored" if held[got] in model.storing else "is stored"
        raise Wrong(f"{call} returned place {got}, where {held[got]!r} {state}.",
                    next="give out a place that nobody has", alike=(call, "taken"))
    model.places[key] = int(got)


def _same_finds(tier: Any, model: TierModel, known: list[str], when: str) -> None:
    """`key in tier` must be the model's for every key of the trace."""
    if "__contains__" not in dir(type(tier)):
        raise Wrong("cannot be asked `key in tier`: it has no method __contains__.", next="write __contains__")
    got = [key for key in known if key in tier]
    wanted = [key for key in known if key in model.stored]
    if got != wanted:
        early = [key for key in got if key in model.storing]
        lost = [key for key in wanted if key not in got and model.pins[key]]
        why = f": the store of {early[0]!r} is not done" if early else f": {lost[0]!r} is pinned" if lost else ""
        raise Wrong(f"{when} it finds {_named(got)}, expected {_named(wanted)}{why}.")


def _named(keys: list[str]) -> str:
    return ", ".join(map(repr, keys)) or "nothing"


def render(value: Value) -> list[str]:
    """`tier = HostTier(2)`, `tier.store_begin("a")`."""
    num_blocks, operations = value
    return [f"tier = HostTier({num_blocks})", *(f'tier.{kind}("{key}")' for kind, key in operations)]


def random_operations() -> Any:
    """A Hypothesis strategy for `Value`s: small tiers, a few keys, and only what a caller may ask for."""
    from hypothesis import strategies as st

    kinds = st.sampled_from(("store_begin", "store_done", "store_begin", "store_done", "touch", "pin", "unpin"))

    @st.composite
    def values(draw: Any) -> Value:
        model, operations = TierModel(draw(st.integers(1, 3))), []
        for operation in draw(st.lists(st.tuples(kinds, st.sampled_from("abcd")), max_size=24)):
            if model.makes_sense(operation):
                operations.append(operation)
                model.apply(operation)
        return model.num_blocks, tuple(operations)

    return values()
