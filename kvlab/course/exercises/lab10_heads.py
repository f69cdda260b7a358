"""Lab 10: which heads each of several GPUs has."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Wrong
from kvlab.course.exercises.scenarios import refused, scenarios
from kvlab.course.shorten import show
from kvlab.errors import UsageError
from kvlab.memory import shard_heads as finished

_READ = "head h reads KV head h // (heads // kv_heads)"
_NEXT = {"query heads": "each rank has a run of heads // ranks of them", "KV heads": _READ,
         "copies": "how many ranks there are for each KV head, at least 1"}


def run(part: Any, value: tuple[int, int, int]) -> None:
    """`Wrong` at the first rank that has other lists or another count, or where a refusal is missing."""
    try:
        expected = finished(*value)
    except UsageError as refusal:
        refused(lambda: part(*value), "what does not divide", UsageError, str(refusal).partition(":")[0])
        return
    got = part(*value)
    if not isinstance(got, list | tuple):
        raise Wrong(f"returned {show(got, 40)}, expected a list with an entry for each rank.",
                    next="return a list" if got is not None else "return the list")
    if len(got) != len(expected):
        raise Wrong(f"returned {len(got)} entries, expected {len(expected)}, one for each rank.",
                    next="go through range(ranks)")
    for rank, (right, one) in enumerate(zip(expected, got, strict=True)):
        if not isinstance(one, list | tuple) or len(one) != 3:
            raise Wrong(f"rank {rank} has {show(one, 40)}, expected (its query heads, its KV heads, copies).",
                        next="three things for each rank", alike=show(one, 40))
        for name, mine, theirs in zip(_NEXT, right, one, strict=True):
            listed = list(theirs) if isinstance(theirs, range | tuple) else theirs
            if isinstance(listed, bool) or type(listed) is not type(mine) or listed != mine:
                kind = "make it a list of the heads' numbers" if isinstance(mine, list) else "make it a whole number"
                raise Wrong(f"rank {rank} has {name} {show(theirs, 40)}, expected {show(mine, 40)}.",
                            next=_NEXT[name] if type(listed) is type(mine) else kind)


def render(value: tuple[int, int, int]) -> list[str]:
    """The call."""
    return ["shard_heads(heads={}, kv_heads={}, ranks={})".format(*value)]


def round_robin(heads, kv_heads, ranks):
    share = heads // kv_heads
    return [(mine := list(range(rank, heads, ranks)), sorted({h // share for h in mine}), max(1, ranks // kv_heads))
            for rank in range(ranks)]


def all_kv_heads(heads, kv_heads, ranks):
    return [(mine, list(range(kv_heads)), ranks) for mine, _, _ in finished(heads, kv_heads, ranks)]


def kv_split_like_queries(heads, kv_heads, ranks):
    each = kv_heads // ranks
    return [(one.heads, list(range(rank * each, rank * each + each)), 1)
            for rank, one in enumerate(finished(heads, kv_heads, ranks))]


def modulo(heads, kv_heads, ranks):
    return [(one.heads, sorted({h % kv_heads for h in one.heads}), one.replicas)
            for one in finished(heads, kv_heads, ranks)]


def by_turns(heads, kv_heads, ranks):
    found = finished(heads, kv_heads, ranks)
    if ranks <= kv_heads:
        return found
    return [(one.heads, [rank % kv_heads], one.replicas) for rank, one in enumerate(found)]


def replicas_one(heads, kv_heads, ranks):
    return [(one.heads, one.kv_heads, 1) for one in finished(heads, kv_heads, ranks)]


def replicas_down(heads, kv_heads, ranks):
    return [(one.heads, one.kv_heads, ranks // kv_heads) for one in finished(heads, kv_heads, ranks)]


def replicas_ranks(heads, kv_heads, ranks):
    return [(one.heads, one.kv_heads, ranks) for one in finished(heads, kv_heads, ranks)]


def repeated(heads, kv_heads, ranks):
    share = heads // kv_heads
    return [(one.heads, [h // share for h in one.heads], one.replicas) for one in finished(heads, kv_heads, ranks)]


def numbered_on_the_rank(heads, kv_heads, ranks):
    return [(list(range(len(one.heads))), list(range(len(one.kv_heads))), one.replicas)
            for one in finished(heads, kv_heads, ranks)]


def counts(heads, kv_heads, ranks):
    return [(len(one.heads), len(one.kv_heads), one.replicas) for one in finished(heads, kv_heads, ranks)]


def drops_the_rest(heads, kv_heads, ranks):
    each, share = heads // ranks, heads // kv_heads
    return [(mine := list(range(r * each, r * each + each)), sorted({h // share for h in mine}),
             max(1, ranks // kv_heads)) for r in range(ranks)]


def heads_alone(heads, kv_heads, ranks):
    if heads % ranks:
        raise UsageError("heads do not divide")
    return drops_the_rest(heads, kv_heads, ranks)


def kv_alone(heads, kv_heads, ranks):
    if heads % kv_heads or (kv_heads % ranks and ranks % kv_heads):
        raise UsageError("KV heads do not divide")
    return drops_the_rest(heads, kv_heads, ranks)


def refuses_replicas(heads, kv_heads, ranks):
    if kv_heads % ranks:
        raise UsageError("KV heads do not divide")
    return finished(heads, kv_heads, ranks)


SHARD_HEADS = Exercise(
    name="shard_heads", lab="10", part="kvlab.memory.shard_heads", stars=2, core=False, minutes=12,
    checks=(
        scenarios("one rank", run, render, (8, 2, 1), (12, 3, 1), next="one rank has everything"),
        scenarios("KV heads divided", run, render, (32, 8, 2), (8, 4, 4), (8, 4, 2), (6, 6, 3), next=_READ),
        scenarios("more ranks than KV heads", run, render, (8, 2, 4), (32, 8, 16), (8, 1, 4), (12, 2, 4),
                  next="each rank has exactly the KV heads that its query heads read"),
        scenarios("what does not divide", run, render, (6, 2, 4), (9, 3, 2), (12, 4, 3), (24, 4, 6),
                  next="raise UsageError if heads are left over, or neither of kv_heads and ranks divides the other"),
    ),
    mistakes=(
        Mistake(round_robin, "Deals the heads out in turn. Then a rank reads many KV heads, and has to hold them all.",
                next="a run of heads for each rank"),
        Mistake(all_kv_heads, "Keeps every KV head on every rank. Then no rank's cache gets smaller.",
                next="only the KV heads that its query heads read"),
        Mistake(kv_split_like_queries, "Gives kv_heads // ranks to each. With more ranks than KV heads that is none.",
                next="only the KV heads that its query heads read"),
        Mistake(modulo, "Looks like h % kv_heads. Neighbours share a KV head.", next=_READ),
        Mistake(by_turns, "Deals the KV heads out in turn. Neighbouring ranks hold copies of the same one.",
                next=_READ),
        Mistake(replicas_one, "Says that nothing is held twice. With more ranks than KV heads it is.",
                next="max(1, ranks // kv_heads)"),
        Mistake(replicas_down, "Says 0 copies where a KV head lies on one rank.", next="max(1, ranks // kv_heads)"),
        Mistake(replicas_ranks, "Takes the number of ranks for that of copies.", next="max(1, ranks // kv_heads)"),
        Mistake(repeated, "Names a KV head once for each query head. It is held once.", next="each KV head once"),
        Mistake(numbered_on_the_rank, "Numbers the heads from 0 on each rank. Asked for are those of the whole model.",
                next="rank * (heads // ranks) is the first"),
        Mistake(counts, "Gives counts. Asked for is which heads.", next="lists of heads"),
        Mistake(drops_the_rest, "Drops the heads that are left over, without a word.",
                next="raise UsageError if heads % ranks, or if neither of kv_heads and ranks divides the other"),
        Mistake(heads_alone, "Looks at the query heads alone. A KV head could be needed by half a rank.",
                next="raise UsageError if neither of kv_heads and ranks divides the other"),
        Mistake(kv_alone, "Looks at the KV heads alone. Query heads that do not divide over the ranks are lost.",
                next="raise UsageError if heads % ranks"),
        Mistake(refuses_replicas, "Refuses more ranks than KV heads. They can hold copies.",
                next="kv_heads may also divide ranks"),
    ),
    hints=(
        "Which KV head does query head 5 of 8 read if there are 2 KV heads, and which rank of 4 has query head 5?",
        "Rank r has the heads // ranks query heads from r * (heads // ranks) on. Its KV heads are those that they "
        "read, each once. There are max(1, ranks // kv_heads) copies of each.",
        "mine = list(range(rank * each, (rank + 1) * each)); sorted({head // (heads // kv_heads) for head in mine})",
    ),
)
