"""What `swap_plan` must do: each block moves once, to a place of its own, and whoever shared it still does."""

from __future__ import annotations

from itertools import chain
from typing import Any

from kvlab.course.declare import Wrong
from kvlab.course.exercises.scenarios import refused
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks

Value = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]


def run(part: Any, value: Value) -> None:
    """`Wrong` at the first thing that does not hold; any free blocks will do, in any order."""
    tables, free = value
    different = set(chain.from_iterable(tables))
    given, places = [list(table) for table in tables], list(free)
    if len(different) > len(free):
        why = f"{len(different)} different blocks need a place, and {len(free)} are free"
        refusal = refused(lambda: part(given, places), "with too few free blocks it", OutOfBlocks, why)
        numbers = refusal.needed, refusal.free
        if numbers != (len(different), len(free)):
            raise Wrong(f"raised OutOfBlocks{numbers}, expected OutOfBlocks({len(different)}, {len(free)}).",
                        next="OutOfBlocks(different blocks, free blocks)")
        _left_alone(value, given, places)
        return
    try:
        moved, copies = _parts(part(given, places))
    except OutOfBlocks as refusal:
        raise Wrong(f"raised OutOfBlocks, expected a plan: {len(different)} different blocks need a place, and "
                    f"{len(free)} are free.", next="exactly enough is enough; count different blocks",
                    alike=len(different) == len(free)) from refusal
    _left_alone(value, given, places)
    _once(copies, different, free)
    place = dict(copies)
    expected = [[place[block] for block in table] for table in tables]
    if moved != expected:
        raise Wrong(f"made the copies {show(copies, 60)} and the tables {show(moved, 60)}, expected "
                    f"{show(expected, 60)}.",
                    next="name in each table where its blocks went", alike=_named(moved, given, place))


def _left_alone(value: Value, given: list[list[int]], places: list[int]) -> None:
    """`Wrong` if the tables or the list of free blocks are not what they were: the plan is only carried out later."""
    tables, free = value
    if given != [list(table) for table in tables]:
        raise Wrong("changed the tables that it was given, expected new ones.", next="make new lists", alike="tables")
    if places != list(free):
        raise Wrong(f"changed free to {show(places, 40)}, expected it to be left alone: a plan takes nothing.",
                    next="work on a copy: free = list(free)", alike="free")


def _named(moved: list[list[int]], given: list[list[int]], place: dict[int, int]) -> Any:
    """What the new tables name, whichever free blocks were taken: the old ones, or whose places."""
    came_from = {target: source for source, target in place.items()}
    return "old" if moved == given else [[came_from.get(block) for block in table] for table in moved]


def _parts(got: Any) -> tuple[list[list[int]], list[tuple[int, int]]]:
    if got is None:
        raise Wrong("returned nothing (None), expected tables and copies; is a `return` missing?",
                    next="return tables, copies")
    try:
        tables, copies = got
        found = [list(table) for table in tables], [(source, target) for source, target in copies]
    except (TypeError, ValueError):
        raise Wrong(f"returned {show(got, 60)}, expected a list of tables and a list of pairs.",
                    next="return tables, copies") from None
    return found


def _once(copies: list[tuple[int, int]], different: set[int], free: tuple[int, ...]) -> None:
    """Every block is the source of one copy, each into a free block of its own."""
    sources, targets = [source for source, _ in copies], [target for _, target in copies]
    if set(sources) != different or len(sources) != len(different):
        raise Wrong(f"copies blocks {show(sources, 50)}, expected {show(sorted(different), 50)}, each once.",
                    alike=_kind(copies, different))
    if not set(targets) <= set(free):
        raise Wrong(f"copies into blocks {show(targets, 50)}, expected free ones: {show(list(free), 50)}.")
    if len(set(targets)) != len(targets):
        raise Wrong(f"copies into blocks {show(targets, 50)}, expected another one for each.")


def _kind(copies: list[tuple[int, int]], different: set[int]) -> Any:
    """What is odd about the copies, whichever free blocks were taken."""
    if {target for _, target in copies} == different:
        return "turned"
    return sorted(source for source, _ in copies if source in different), len(set(copies))


def render(value: Value) -> list[str]:
    """The call."""
    tables, free = value
    return [f"swap_plan({[list(table) for table in tables]}, {list(free)})"]


def random_tables() -> Any:
    """A strategy for `Value`s: up to three tables over few blocks, and a few free ones elsewhere."""
    from hypothesis import strategies as st

    block = st.integers(0, 5)
    table = st.lists(block, max_size=4, unique=True).map(tuple)
    free = st.lists(st.integers(0, 9), max_size=8, unique=True).map(tuple)
    return st.tuples(st.lists(table, max_size=3).map(tuple), free)
