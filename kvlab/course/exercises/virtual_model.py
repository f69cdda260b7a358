"""The brute-force model behind the virtual cache exercise: bytes are laid one after the other, and pages counted."""

from __future__ import annotations

from functools import partial
from typing import Any

from kvlab.course.declare import Wrong, shows
from kvlab.course.exercises.scenarios import is_count, refused
from kvlab.course.shorten import show
from kvlab.errors import OutOfPages, UsageError

Operation = tuple[Any, ...]  # ("reserve", request, most), ("grow", request, tokens), ("free", request)
Value = tuple[tuple[int, int, tuple[int, ...]], tuple[Operation, ...]]  # pages, bytes of one, bytes of a token


class VirtualModel:
    """Which pages of its own addresses each request has touched."""

    def __init__(self, num_pages: int, page_bytes: int, token_bytes: tuple[int, ...]) -> None:
        self.num_pages, self.page_bytes, self.token_bytes = num_pages, page_bytes, token_bytes
        self.most: dict[str, int] = {}
        self.tokens: dict[str, int] = {}

    def pages(self, tokens: int) -> int:
        """Pages in which a byte of `tokens` tokens lies, over all ranges."""
        return sum(len({byte // self.page_bytes for byte in range(tokens * width)}) for width in self.token_bytes)

    @property
    def num_free(self) -> int:
        return self.num_pages - sum(map(self.pages, self.tokens.values()))

    def apply(self, operation: Operation) -> None:
        """Does what the operation does, if it is not refused."""
        kind, request, *number = operation
        if kind == "reserve" and request not in self.most:
            self.most[request], self.tokens[request] = number[0], 0
        elif kind == "grow" and not self.refuses(operation):
            self.tokens[request] = number[0]
        elif kind == "free":
            del self.most[request], self.tokens[request]

    def refuses(self, operation: Operation) -> str:
        """Why a call must be refused, apart from too few pages; empty if it must not."""
        kind, request, *number = operation
        if kind == "reserve" and request in self.most:
            return f"{request!r} has addresses already"
        if kind == "grow" and number[0] > self.most[request]:
            return f"{request!r} has addresses for {self.most[request]} tokens"
        return "pages" if kind == "grow" and self.more(request, number[0]) > self.num_free else ""

    def more(self, request: str, tokens: int) -> int:
        return self.pages(tokens) - self.pages(self.tokens[request])


def run(part: Any, value: Value) -> None:
    """Every operation on the learner's cache and on the model; `Wrong` at the first difference."""
    given, operations = value
    cache, model = part(given[0], given[1], list(given[2])), VirtualModel(*given)
    with shows(lambda: render((given, ()))):
        _same_free(cache, model, "at the start")
    for done, operation in enumerate(operations, 1):
        with shows(partial(render, (given, operations[:done]))):
            reason = model.refuses(operation)
            call = _call(operation)
            if reason and done > 1 and operations[done - 2] == operation:
                _refuse_again(cache, operation, call)
            (_refuse if reason else _accept)(cache, model, operation, call)
            model.apply(operation)
            _same_free(cache, model, f"after the refused {call}" if reason else f"after {call}")


def _refuse(cache: Any, model: VirtualModel, operation: Operation, call: str) -> None:
    reason = model.refuses(operation)
    kind, request, number = operation
    if reason != "pages":
        refused(lambda: getattr(cache, kind)(request, number), call, UsageError, reason)
        return
    needed, free = model.more(request, number), model.num_free
    why = f"it needs {needed} more page{'s' * (needed != 1)}, and {free} {'is' if free == 1 else 'are'} free"
    refusal = refused(lambda: cache.grow(request, number), call, OutOfPages, why)
    if (refusal.needed, refusal.free) != (needed, free):
        swapped = (refusal.needed, refusal.free) == (free, needed)
        raise Wrong(f"{call}: the refusal says needed={show(refusal.needed)}, free={show(refusal.free)}, expected "
                    f"needed={needed}, free={free}.",
                    next="swap the two numbers: OutOfPages(needed, free)" if swapped
                    else "needed counts the new pages, free what is free before")


def _refuse_again(cache: Any, operation: Operation, call: str) -> None:
    """The same call right after its refusal: whoever accepts it now has changed something before refusing."""
    kind, request, number = operation
    try:
        got = getattr(cache, kind)(request, number)
    except Exception:
        return  # what it says is looked at by `_refuse`
    raise Wrong(f"{call} was refused, and the same call again returned {show(got, 30)}: the refused call has changed "
                "what is kept of the request (I13).", next="look first, and change afterwards", alike=(call, "again"))


def _accept(cache: Any, model: VirtualModel, operation: Operation, call: str) -> None:
    kind, request, *number = operation
    try:
        got = getattr(cache, kind)(request, *number)
    except OutOfPages as refusal:
        more = f"it needs {model.more(request, number[0])} new" if kind == "grow" else "addresses need no page"
        raise Wrong(f"{call} was refused ({refusal}), but {model.num_free} of {model.num_pages} pages are free, and "
                    f"{more}.") from None
    except UsageError as refusal:
        raise Wrong(f"{call} was refused with UsageError, but nothing is wrong with it.",
                    next=None if str(refusal) else "look at what you compare") from None
    if kind == "reserve":
        return
    wanted = model.more(request, number[0]) if kind == "grow" else model.pages(model.tokens[request])
    what = "the pages newly mapped" if kind == "grow" else "the pages given back"
    if not is_count(got) or got != wanted:
        raise Wrong(f"{call} returned {show(got, 30)}, expected {wanted}, {what}.",
                    next=f"return {what}" if got is None else None)


def _same_free(cache: Any, model: VirtualModel, when: str) -> None:
    number = " (I13)" if "refused" in when else ""
    try:
        free = cache.num_free
    except AttributeError as missing:
        if getattr(missing, "obj", None) is not cache or missing.name != "num_free":
            raise
        raise Wrong("has no `num_free`; it says how many pages are free.",
                    next="set self.num_free in __init__") from None
    if callable(free):
        raise Wrong("`num_free` is a method; it is read like a number, so make it an attribute or put @property above.",
                    next="put @property above num_free")
    if not is_count(free) or free != model.num_free:
        raise Wrong(f"{when} num_free is {show(free, 30)}, expected {model.num_free}{number}.",
                    next=None if is_count(free) else "count whole pages: round up with //")


def _call(operation: Operation) -> str:
    kind, request, *number = operation
    return f"{kind}({', '.join([repr(request), *map(str, number)])})"


def render(value: Value) -> list[str]:
    """`cache = VirtualCache(8, 16, [4, 4])`, `cache.reserve("a", 20)`."""
    given, operations = value
    return [f"cache = VirtualCache({given[0]}, {given[1]}, {list(given[2])})",
            *(f"cache.{_call(operation)}" for operation in operations)]


def random_operations() -> Any:
    """A Hypothesis strategy for `Value`s: a few requests that come, grow and go, now and then too far."""
    from hypothesis import strategies as st

    kinds = st.sampled_from(("grow", "reserve", "grow", "free"))

    @st.composite
    def values(draw: Any) -> Value:
        widths = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
        given = draw(st.integers(2, 12)), draw(st.integers(2, 9)), widths
        model, operations = VirtualModel(*given), []
        steps = st.tuples(kinds, st.sampled_from("abc"), st.integers(1, 9))
        for kind, request, number in draw(st.lists(steps, max_size=12)):
            if request not in model.most:
                kind = "reserve"
            if kind == "grow":
                number = max(number, model.tokens[request])
            operation: Operation = (kind, request) if kind == "free" else (kind, request, number)
            operations.append(operation)
            model.apply(operation)
        return given, tuple(operations)

    return values()
