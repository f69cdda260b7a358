"""Lab 07: who goes next, if some of those who wait would find their prompt in the cache."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def _within(found, overtaken, patience, late=lambda times, patience: times >= patience):
    stop = next((place for place, times in enumerate(overtaken) if late(times, patience)), len(found) - 1)
    return found[: stop + 1]


def first_come(found, overtaken, patience):
    return 0


def no_patience(found, overtaken, patience):
    return found.index(max(found))


def youngest_of_equals(found, overtaken, patience):
    near = _within(found, overtaken, patience)
    return max(range(len(near)), key=lambda place: (near[place], place))


def the_length(found, overtaken, patience):
    return max(_within(found, overtaken, patience))


def least_found(found, overtaken, patience):
    near = _within(found, overtaken, patience)
    return near.index(min(near))


def one_too_patient(found, overtaken, patience):
    near = _within(found, overtaken, patience, lambda times, limit: times > limit)
    return near.index(max(near))


def stops_before_too_late(found, overtaken, patience):
    stop = next((place for place, times in enumerate(overtaken) if times > patience), len(found))
    near = found[:stop] or found[:1]
    return near.index(max(near))


def too_late_ones_first(found, overtaken, patience):
    for place, times in enumerate(overtaken):
        if times > patience:
            return place
    return found.index(max(found))


def only_the_oldest_too_late(found, overtaken, patience):
    return 0 if overtaken[0] > patience else found.index(max(found))


def never_the_late_one(found, overtaken, patience):
    stop = next((place for place, times in enumerate(overtaken) if times >= patience), len(found))
    near = found[:stop] or found[:1]
    return near.index(max(near))


def late_ones_first(found, overtaken, patience):
    for place, times in enumerate(overtaken):
        if times >= patience:
            return place
    return found.index(max(found))


def late_ones_left_out(found, overtaken, patience):
    allowed = [place for place in range(len(found)) if overtaken[place] < patience] or [0]
    return max(allowed, key=lambda place: found[place])


def most_overtaken(found, overtaken, patience):
    return overtaken.index(max(overtaken))


def only_the_oldest_is_late(found, overtaken, patience):
    return 0 if overtaken[0] >= patience else found.index(max(found))


def the_oldest_if_any_is_late(found, overtaken, patience):
    return 0 if max(overtaken) >= patience else found.index(max(found))


_ENOUGH = "`patience` times is already enough: > lets a request be overtaken once more."

PICK_NEXT = Exercise(
    name="pick_next", lab="07", part="kvlab.serve.pick_next", stars=2, core=False, minutes=10,
    checks=(
        Cases("most found", ([0, 64, 32], [0, 0, 0], 4), ([16, 0], [0, 0], 4), ([0, 0, 0, 48], [3, 2, 1, 0], 4),
              next="the place of the largest number"),
        Cases("the older of equals", ([0, 64, 64], [0, 0, 0], 4), ([0, 0], [1, 0], 4), next="take the first of them"),
        Cases("patience is over", ([0, 64], [4, 0], 4), ([0, 16, 64], [1, 4, 0], 4), ([32, 0, 64], [0, 4, 0], 4),
              ([0, 32, 16, 64], [3, 3, 5, 0], 4), ([0, 64, 0], [0, 0, 4], 4), ([0, 64], [3, 0], 4),
              ([0, 64], [5, 0], 4),
              next="choose among all up to and with the first whose patience is over"),
        Cases("no patience at all", ([0, 64], [0, 0], 0), next="with patience 0 it is first come, first served"),
        Cases("one waits", ([0], [0], 4), ([48], [9], 4), next="place 0"),
    ),
    mistakes=(
        Mistake(first_come, "Takes the oldest always. Then the cache has no say.", next="compare `found`"),
        Mistake(no_patience, "Nobody's patience ends: a request with nothing in the cache may wait for ever.",
                next="stop at the first one that was overtaken `patience` times"),
        Mistake(youngest_of_equals, "Of two that find the same, takes the younger. The older has waited longer.",
                next="take the first of them"),
        Mistake(the_length, "Gives how much is found. The question is for the place in the queue.",
                next="return the place"),
        Mistake(least_found, "Takes the one that finds least.", next="the largest of `found`"),
        Mistake(one_too_patient, _ENOUGH, next="use >="),
        Mistake(stops_before_too_late, _ENOUGH, next="use >=, and compare that one too before you stop"),
        Mistake(too_late_ones_first, _ENOUGH, next="use >=, and compare all up to that one"),
        Mistake(only_the_oldest_too_late, _ENOUGH, next="use >=, and look at `overtaken` of each"),
        Mistake(the_oldest_if_any_is_late,
                "Takes the oldest, not the best of those up to the first whose patience is over.",
                next="compare `found` of all up to that one"),
        Mistake(never_the_late_one,
                "Stops before the one whose patience is over. Nobody may go before it, but it may go itself.",
                next="compare it as well, then stop"),
        Mistake(late_ones_first,
                "Takes whoever's patience is over at once. Someone older, who finds more, may still go first.",
                next="compare all up to that one"),
        Mistake(late_ones_left_out, "Leaves out those whose patience is over: the longest wait becomes endless.",
                next="stop at the first of them, and compare it too"),
        Mistake(most_overtaken, "Takes the one that was overtaken most. Then the cache has no say.",
                next="compare `found`, up to the first whose patience is over"),
        Mistake(only_the_oldest_is_late, "Asks only the oldest for its patience. Another's may be over too.",
                next="look at `overtaken` of each"),
    ),
    hints=(
        "Ben has been overtaken as often as he may. Who of the queue may still go before him?",
        "Walk from the oldest on, remember the best so far, and stop after the first whose patience is over.",
        "for place, length in enumerate(found): if length > found[best]: best = place; if overtaken[place] >= ...: "
        "break",
    ),
)
