"""Small finished parts and exercises on them, so that the engine's tests need nothing of the course's content."""

from __future__ import annotations

from hypothesis import strategies as st

from kvlab.course.declare import Cases, Exercise, Mistake, Property, Traces, Wrong
from kvlab.errors import OutOfBlocks, UsageError

LAB = "97"


def blocks_up(num_tokens, block_size):
    """Blocks that hold `num_tokens` tokens."""
    if num_tokens < 0:
        raise UsageError(f"needed at least 0 tokens, got {num_tokens}")
    return -(-num_tokens // block_size)


def grow(table, extra):
    """Appends `extra` zeros to `table` in place and returns the new length."""
    table.extend([0] * extra)
    return len(table)


def halves(numbers):
    """Each number halved."""
    return [number / 2 for number in numbers]


class Shelf:
    """A pool of books: take hands out, release takes back."""

    def __init__(self, books):
        self._free = list(range(books))

    @property
    def num_free(self):
        return len(self._free)

    def take(self, count):
        if count > len(self._free):
            raise OutOfBlocks(count, len(self._free))
        return [self._free.pop() for _ in range(count)]

    def release(self, books):
        self._free += books


def one_too_many(num_tokens, block_size):
    if num_tokens < 0:
        raise UsageError("negative")
    return num_tokens // block_size + 1


def rounds_down(num_tokens, block_size):
    if num_tokens < 0:
        raise UsageError("negative")
    return num_tokens // block_size


def forgets_none(table, extra):
    return len(table + [0] * extra)


class Leaky(Shelf):
    """Loses the first book of each release."""

    def release(self, books):
        self._free += books[1:]


class Partial(Shelf):
    """Hands out what it has when asked for more."""

    def take(self, count):
        return super().take(min(count, len(self._free)))


def walk(part, value):
    (books,), operations = value
    shelf, held = part(books), []
    for operation, count in operations:
        if operation == "take":
            try:
                held += shelf.take(count)
            except OutOfBlocks:
                pass
        else:
            shelf.release(held[:count])
            del held[:count]
        if shelf.num_free != books - len(held):
            raise Wrong(f"num_free is {shelf.num_free}, expected {books - len(held)}.")


def refuses(part):
    shelf = part(2)
    try:
        taken = shelf.take(3)
    except OutOfBlocks:
        return
    raise Wrong(f"take(3) with 2 free gave {taken}, expected OutOfBlocks.")


OPERATIONS = st.tuples(st.tuples(st.integers(0, 9)),
                       st.lists(st.tuples(st.sampled_from(["take", "release"]), st.integers(0, 5)), max_size=20))

BLOCKS_UP = Exercise(
    "blocks_up", LAB, "tests.course.small.blocks_up",
    checks=(Cases("values", (1, 16), (17, 16), (100, 16)),
            Cases("exact multiple", (16, 16), (32, 16), invariant="I3", next="treat the exact multiple"),
            Cases("zero tokens", (0, 16)),
            Cases("negative counts", (-1, 16), raises=UsageError)),
    mistakes=(Mistake(one_too_many, "Looks like n // B + 1, which adds a block even when the last one is exactly full.",
                      invariant="I3", next="treat the exact multiple"),
              Mistake(rounds_down, "Looks like n // B, which forgets the tokens after the last full block.")),
    hints=("How many blocks do 17 tokens need?", "Round up.", "Negate, divide, negate."),
)
GROW = Exercise("grow", LAB, "tests.course.small.grow", checks=(Cases("in place", ([1, 2], 3), ([], 1)),),
                mistakes=(Mistake(forgets_none, "Looks like it makes a new list.", mutates="table"),),
                hints=("a", "b", "c"))
HALVES = Exercise("halves", LAB, "tests.course.small.halves", checks=(Cases("halves", ([1, 2, 3],), (range(200),)),),
                  hints=("a", "b", "c"), core=False, stars=2)
SHELF = Exercise(
    "Shelf", LAB, "tests.course.small.Shelf",
    checks=(Property("refusal", refuses, invariant="I13", next="refuse before you hand anything out"),
            Traces("random traces", OPERATIONS, walk, examples=[((2,), [("take", 2), ("release", 1)])],
                   next="count what is free after each call")),
    mistakes=(Mistake(Leaky, "Looks like the first book of a release is lost."),
              Mistake(Partial, "Looks like it hands out what it has.", invariant="I13")),
    hints=("a", "b", "c"),
)
EXERCISES = (BLOCKS_UP, GROW, HALVES, SHELF)
