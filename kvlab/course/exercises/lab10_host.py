"""Lab 10: a tier on the host, in which a block is found only once its store is done, and stays while it is loaded."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kvlab.course.declare import Exercise, Mistake, Property, Traces, Wrong, shows
from kvlab.course.exercises import lab10_host_mistakes as wrong
from kvlab.course.exercises import lab10_host_pins as pins
from kvlab.course.exercises.scenarios import scenarios
from kvlab.course.exercises.tier_model import Operation, random_operations, render, run


def _calls(text: str) -> tuple[Operation, ...]:
    """"b:x d:x p:x" as operations: begin, done, pin, unpin and touch of a key."""
    names = {"b": "store_begin", "d": "store_done", "p": "pin", "u": "unpin", "t": "touch"}
    return tuple((names[word[0]], word[2]) for word in text.split())


def _stored(keys: str) -> str:
    return " ".join(f"b:{key} d:{key}" for key in keys)


def story(num_blocks: int, *texts: str) -> tuple[int, tuple[Operation, ...]]:
    return num_blocks, _calls(" ".join(texts))


def tells(name: str, *stories: Any, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *stories, invariant=invariant, next=next)


def _filled(part: Any, num_blocks: int, keys: str) -> Any:
    tier = part(num_blocks)
    for key in keys:
        tier.store_begin(key)
        tier.store_done(key)
    return tier


def each_tier_its_own(part: Any) -> None:
    first = _filled(part, 2, "a")
    if "a" in part(2):
        raise Wrong("with block 'a' stored in one tier, a second, new tier finds it too.")
    if _filled(part, 1, "a").store_begin("b") is None:
        return  # whatever is wrong there has to do with one tier alone
    first.pin("a")
    if _filled(part, 1, "a").store_begin("b") is None:
        raise Wrong("with block 'a' pinned in one tier, a second, new tier lets its own 'a' leave for nobody.")


def asking_is_no_use(part: Any) -> None:
    untouched, asked = _filled(part, 2, "ab"), _filled(part, 2, "ab")
    untouched.store_begin("c")
    if "b" not in untouched or "a" in untouched:
        return  # the order is wrong without any question
    lines = ["tier = HostTier(2)", *(f'tier.{call}("{key}")' for key in "ab" for call in ("store_begin", "store_done")),
             '"a" in tier', 'tier.store_begin("c")', '"b" in tier']
    with shows(lambda: lines):
        _ = "a" in asked
        asked.store_begin("c")
        if "b" not in asked:
            raise Wrong("after somebody asked `'a' in tier`, store_begin('c') made 'b' leave, expected 'a': asking "
                        "whether a block is there is no use.")


def touch_stores_nothing(part: Any) -> None:
    tier = part(2)
    with shows(lambda: ["tier = HostTier(2)", 'tier.touch("a")', '"a" in tier']):
        with suppress(Exception):  # a refusal is as good as doing nothing
            tier.touch("a")
        if "a" in tier:
            raise Wrong("after touch('a') it finds 'a', which was never stored.")


_DONE = "found from store_done on, not from store_begin on"
_LRU = "the one that was used least recently, of those without a pin"
_STORING = "a block that is being stored keeps its place"

HOST_TIER = Exercise(
    name="HostTier", lab="10", part="kvlab.memory.HostTier", stars=3, core=True, minutes=25,
    checks=(
        tells("store", story(2, "b:a"), story(2, "b:a d:a"), story(3, "b:a b:b d:b d:a"), next=_DONE),
        Property("each tier its own", each_tier_its_own, next="create what it keeps in __init__, with self."),
        tells("store once", story(2, "b:a d:a b:a"), story(2, "b:a b:a"), story(1, _stored("a"), "b:a"),
              story(2, _stored("ab"), "b:a"), next="None if it is stored, or being stored"),
        Property("asking is no use", asking_is_no_use, next="__contains__ changes nothing"),
        tells("least recently used leaves", story(2, _stored("abc")), story(1, _stored("ab")),
              story(2, _stored("ab"), "t:a b:c"), story(3, _stored("abc"), "t:b t:a b:d d:d", _stored("e")),
              story(2, "b:a b:b d:b d:a b:c"), story(3, _stored("ab"), "b:c"), next=_LRU),
        tells("being stored", story(2, "b:a b:b b:c"), story(2, "b:a", _stored("b"), "b:c d:a d:c"),
              story(1, "b:a b:b d:a b:b"), next=_STORING),
        tells("pin", story(2, _stored("ab"), "p:a p:b"), story(2, _stored("abc"), "p:b p:c"),
              next="return its place"),
        tells("pin refused", story(2, "p:a"), story(2, "b:a p:a"), story(1, _stored("ab"), "p:a"), invariant="I8",
              next="refuse with UsageError what is not stored"),
        tells("pinned stays", story(2, _stored("ab"), "p:a b:c"), story(1, _stored("a"), "p:a b:b"),
              story(2, _stored("ab"), "p:a p:b b:c"), story(2, _stored("ab"), "p:b p:a u:b b:c"),
              next="leave out what is pinned"),
        tells("each unpin one load", story(1, _stored("a"), "p:a p:a u:a b:b"),
              story(1, _stored("a"), "p:a p:a u:a u:a b:b"), story(1, _stored("a"), "p:a u:a b:b d:b p:b"),
              next="count the pins of each block"),
        tells("pins leave the order", story(2, _stored("ab"), "p:a u:a b:c"), story(3, _stored("abc"), "p:b u:b t:a "
              "b:d"), next="only store_done and touch change the order"),
        tells("what is known is no use", story(2, _stored("ab"), "b:a b:c"), next="only store_done and touch change "
              "the order"),
        Property("touch stores nothing", touch_stores_nothing, invariant="I8", next="touch moves what is stored"),
        Traces("random operations", random_operations, run, render=render, next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(wrong.FoundAtBegin,
                "Finds a block whose store has only begun. Whoever loads it reads bytes that are not there yet.",
                invariant="I8", next=_DONE),
        Mistake(wrong.NeverPublished, "Never publishes: after store_done the block is still not found.",
                invariant="I8", next="let store_done make it one that is found"),
        Mistake(pins.PinnedWhileStoring,
                "Lets a load begin before the store is done. It would read what is only half there.", invariant="I8",
                next="UsageError while it is being stored"),
        Mistake(pins.PinnedLeaves,
                "Lets a pinned block leave. The load that pinned it would read what is written over it.",
                next="leave out what is pinned"),
        Mistake(wrong.StoringLeaves,
                "Lets a block leave that is being stored. Its bytes are on their way to a place that others get.",
                invariant="I8", next=_STORING),
        Mistake(wrong.NewestLeaves, "Lets the most recently used leave. That one is the likeliest to be asked for.",
                next=_LRU),
        Mistake(wrong.TouchIsNothing, "Looks like first in, first out: touch changes nothing.",
                next="touch makes it the most recently used"),
        Mistake(pins.PinIsUse, "Counts a pin as a use. Only store_done and touch change the order here.",
                next="only store_done and touch change the order"),
        Mistake(wrong.KnownIsUse, "Counts store_begin of a stored block as a use. It only says that nothing is to do.",
                next="only store_done and touch change the order"),
        Mistake(wrong.OrderOfBegin, "Counts store_begin as the use. A block is used when its store is done.",
                next="order by store_done and touch"),
        Mistake(pins.PinsAreASet,
                "Forgets all pins at the first unpin. Two loads may have pinned it, and one is still reading.",
                next="count the pins of each block"),
        Mistake(pins.PinsDeleted,
                "Forgets all pins at the first unpin. Two loads may have pinned it, and the second has to end too.",
                next="count the pins of each block"),
        Mistake(pins.UnpinIsNothing, "Never unpins. In the end nobody may leave, and nothing new is stored.",
                next="take one from its count of pins"),
        Mistake(wrong.StoredAgain, "Stores a block a second time that is stored already. That takes two places.",
                next="None if it is stored, or being stored"),
        Mistake(wrong.StoredAgainMeanwhile,
                "Begins a second store while the first is under way. Look among those being stored too.",
                next="None if it is stored, or being stored"),
        Mistake(wrong.KnownPlace,
                "Returns the place that it has already. A caller would write it again; None says that nothing is to "
                "do.", next="None if it is stored, or being stored"),
        Mistake(wrong.StillFound, "Still finds who has left. Its place has another's bytes now.", invariant="I1",
                next="whoever leaves is found no more"),
        Mistake(wrong.NoEviction, "Refuses when it is full. The least recently used can make room.",
                next="let one leave that is not pinned"),
        Mistake(wrong.FullRaises,
                "Raises when nobody may leave. A block that is not stored costs time, no answer: None is enough.",
                next="return None"),
        Mistake(wrong.FullRaisesIndexError, "Takes the first of an empty list when nobody may leave.",
                next="return None if nobody may leave"),
        Mistake(wrong.OldestOnly, "Looks at the oldest alone. If that one is pinned, the next may leave.", next=_LRU),
        Mistake(wrong.AllLeave, "Lets all leave who may. One place is needed.", next="let one leave"),
        Mistake(wrong.LeavesThoughFree, "Lets one leave although a place is free.", next="look for a free place first"),
        Mistake(wrong.LeavesForKnown, "Lets one leave before it looks whether the block is there already.",
                next="return None first, for what is known"),
        Mistake(wrong.PlaceIsLost, "Numbers grow with each store. The place of who left is never used again.",
                invariant="I1", next="give the place back when its block leaves"),
        Mistake(wrong.PlacesCounted,
                "Takes the count of blocks for a place. After one has left, that place may be another's.",
                invariant="I1", next="keep a list of the free places"),
        Mistake(pins.PinOfNothing, "Returns None for what is not stored. A caller would load from nowhere.",
                next="raise UsageError"),
        Mistake(pins.PinKeyError, "Nothing looks whether the block is there, so Python's KeyError comes out.",
                next="look first, and raise UsageError"),
        Mistake(pins.PinReturnsNothing, "pin returns nothing. The caller needs the place to read from.",
                next="return its place"),
        Mistake(pins.PinTakesOut, "Hides a block that is being loaded. Others may load it at the same time.",
                next="found is what is stored, pinned or not"),
        Mistake(wrong.Shared, "Looks like a dictionary that belongs to the class. Then all tiers share it.",
                next="create it in __init__, with self."),
    ),
    hints=(
        "A place can be free, being written, or stored. In which of these may somebody read it, and in which may it be "
        "given to somebody else?",
        "Keep the free places in a list, and two dictionaries from key to place: storing and stored. A dictionary "
        "keeps its order, so whoever is taken out and put in again is last. Pins are a count for each key.",
        "store_begin: if key in self.storing or key in self.stored: return None; if not self.free: victim = next((k "
        "for k in self.stored if not self.pins[k]), None), and None if there is none, else free its place; then "
        "self.storing[key] = self.free.pop()",
    ),
)
