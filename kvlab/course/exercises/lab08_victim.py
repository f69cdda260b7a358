"""Lab 08: who must leave when no block is free."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def _last(running):
    return max(running, key=lambda job: job[1:])


def the_oldest(running, asks):
    return min(running, key=lambda job: job[1:])[0] if len(running) > 1 else None


def who_asks(running, asks):
    return asks if len(running) > 1 else None


def none_if_who_asks(running, asks):
    name = _last(running)[0] if len(running) > 1 else None
    return None if name == asks else name


def never_who_asks(running, asks):
    others = [job for job in running if job[0] != asks]
    return _last(others)[0] if others else None


def itself_if_alone(running, asks):
    return _last(running)[0]


def arrival_alone(running, asks):
    return max(running, key=lambda job: job[2])[0] if len(running) > 1 else None


def oldest_of_the_lowest(running, asks):
    return max(running, key=lambda job: (job[1], -job[2]))[0] if len(running) > 1 else None


def priority_turned(running, asks):
    return max(running, key=lambda job: (-job[1], job[2]))[0] if len(running) > 1 else None


def last_of_the_list(running, asks):
    return running[-1][0] if len(running) > 1 else None


def first_of_the_list(running, asks):
    return running[0][0] if len(running) > 1 else None


def by_name(running, asks):
    return max(job[0] for job in running) if len(running) > 1 else None


def whole_entry(running, asks):
    return _last(running) if len(running) > 1 else None


def oldest_by_arrival(running, asks):
    return min(running, key=lambda job: job[2])[0] if len(running) > 1 else None


_EQUAL = [("dora", 0, 3), ("ana", 0, 1), ("carl", 0, 2)]
_MIXED = [("eve", 0, 4), ("ana", 2, 1), ("carl", 2, 3), ("ben", 1, 5)]

CHOOSE_VICTIM = Exercise(
    name="choose_victim", lab="08", part="kvlab.serve.choose_victim", stars=1, core=True, minutes=8,
    checks=(
        Cases("the most recent", (_EQUAL, "ana"), (_EQUAL, "carl"), ([("zoe", 0, 7), ("ben", 0, 9)], "zoe"),
              invariant="I11", next="the largest arrival"),
        Cases("who asks may have to leave", (_EQUAL, "dora"), ([("zoe", 0, 7), ("ben", 0, 9)], "ben"), invariant="I11",
              next="it does not matter who asks"),
        Cases("priority", (_MIXED, "eve"), (_MIXED, "carl"), ([("ana", 5, 1), ("ben", 0, 2)], "ben"),
              ([("eve", 1, 4), ("ana", 0, 1), ("carl", 1, 2)], "ana"),
              next="the largest priority number first, then the largest arrival"),
        Cases("alone", ([("ana", 0, 1)], "ana"), ([("eve", 3, 8)], "eve"), invariant="I10",
              next="nobody can leave: return None"),
    ),
    mistakes=(
        Mistake(the_oldest,
                "The first in order leaves. It has the most work to lose, and would never end if it always had to.",
                next="the last in order"),
        Mistake(oldest_by_arrival,
                "The oldest leaves. It has the most work to lose, and would never end if it always had to.",
                next="the last in order"),
        Mistake(who_asks, "Whoever asks leaves. The oldest may ask, and it must go on, or nobody is sure ever to end.",
                next="it does not matter who asks"),
        Mistake(never_who_asks, "Spares whoever asks. If the most recent asks, an older one would leave for it.",
                next="it does not matter who asks"),
        Mistake(none_if_who_asks,
                "Says nobody where whoever asks is the last in order. Then just that one has to leave.",
                next="the last in order, even if it is asks; None only for one alone"),
        Mistake(itself_if_alone,
                "One that is alone leaves for itself. It comes back, asks again, and leaves again, for ever.",
                invariant="I10", next="alone: return None"),
        Mistake(arrival_alone, "Looks at the arrival alone. The priority comes first.",
                next="compare (priority, arrival)"),
        Mistake(oldest_of_the_lowest, "Of equal priority, the oldest leaves. The most recent has the least to lose.",
                next="the largest arrival among them"),
        Mistake(priority_turned, "Takes a large number for a high priority. The smallest is served first.",
                next="the largest priority number leaves"),
        Mistake(last_of_the_list, "Takes the last of the list. Its order says nothing here.",
                next="compare (priority, arrival)"),
        Mistake(first_of_the_list, "Takes the first of the list. Its order says nothing here.",
                next="compare (priority, arrival)"),
        Mistake(by_name, "Compares names. What counts is (priority, arrival).", next="compare (priority, arrival)"),
        Mistake(whole_entry, "Gives the whole entry. The question is for the name.", next="return its name"),
    ),
    hints=(
        "Somebody loses work. Who has the least of it? And who must never lose any, so that at least one is sure to "
        "end?",
        "The last in order leaves: largest priority number, and among those the largest arrival. One alone has nobody "
        "who could leave for it.",
        "if len(running) < 2: return None; max(running, key=lambda job: (job[1], ...))[0]",
    ),
)
