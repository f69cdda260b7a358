"""Lab 10: reserved addresses, and pages that come when tokens do."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Property, Traces, Wrong
from kvlab.course.exercises import lab10_virtual_mistakes as wrong
from kvlab.course.exercises import lab10_virtual_pages as pages
from kvlab.course.exercises.scenarios import corners, scenarios
from kvlab.course.exercises.virtual_model import Operation, Value, random_operations, render, run
from kvlab.errors import UsageError


def reserve(request: str, most: int) -> Operation:
    return "reserve", request, most


def grow(request: str, tokens: int) -> Operation:
    return "grow", request, tokens


def free(request: str) -> Operation:
    return "free", request


def story(pages: int, page_bytes: int, token_bytes: tuple[int, ...], *operations: Operation) -> Value:
    return (pages, page_bytes, token_bytes), operations


def tells(name: str, *stories: Value, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *stories, invariant=invariant, next=next)


def each_cache_its_own_requests(part: Any) -> None:
    part(8, 4, [4]).reserve("z", 8)
    try:
        part(8, 4, [4]).reserve("z", 8)
    except UsageError:
        raise Wrong("with request 'z' in one cache, a second, new cache refuses addresses to its own 'z'.") from None


def each_cache_its_own(part: Any) -> None:
    first = part(8, 4, [4])
    first.reserve("a", 8)
    first.grow("a", 3)
    second = part(8, 4, [4])
    second.reserve("a", 8)
    if second.grow("a", 3) != 3:
        raise Wrong("with 3 pages of request 'a' mapped in one cache, a second, new cache does not map 3 for its own.")


_EACH = "round up in each range by itself"
_NOW = "more pages than it has now: what it needs in all, minus what is mapped"

VIRTUAL_CACHE = Exercise(
    name="VirtualCache", lab="10", part="kvlab.memory.VirtualCache", stars=2, core=True, minutes=20,
    checks=(
        Property("own requests", each_cache_its_own_requests, next="create the dictionaries in __init__, with self."),
        tells("addresses cost nothing", story(4, 8, (4,), reserve("a", 100), reserve("b", 100)),
              story(4, 8, (4, 4), reserve("a", 2)), next="reserve maps no page"),
        tells("pages for tokens", story(9, 8, (4,), reserve("a", 20), grow("a", 4)),
              story(9, 8, (4,), reserve("a", 20), grow("a", 5)), story(9, 8, (4,), reserve("a", 20), grow("a", 1)),
              next="round up to whole pages"),
        Property("each cache its own", each_cache_its_own, next="create the dictionaries in __init__, with self."),
        tells("each range its own pages", story(20, 8, (4, 4, 4), reserve("a", 20), grow("a", 1)),
              story(20, 8, (2, 6), reserve("a", 20), grow("a", 5)), story(20, 8, (6, 2), reserve("a", 20),
              grow("a", 3)), story(40, 8, (4, 4), reserve("a", 20), grow("a", 3)), next=_EACH),
        tells("a token across two pages", story(20, 8, (3,), reserve("a", 20), grow("a", 5)),
              story(20, 8, (12,), reserve("a", 20), grow("a", 2)), next="round up the bytes, not the tokens"),
        tells("token by token", story(20, 8, (4, 2), reserve("a", 9), *(grow("a", n) for n in range(1, 10))),
              story(20, 8, (4,), reserve("a", 20), grow("a", 3), grow("a", 3), grow("a", 10)), next=_NOW),
        tells("free", story(20, 8, (4, 2), reserve("a", 9), grow("a", 5), free("a")),
              story(6, 8, (8,), reserve("a", 9), grow("a", 4), reserve("b", 9), grow("b", 2), free("a"), grow("b", 6)),
              invariant="I1", next="give back the pages of all its ranges"),
        tells("the last page", story(4, 8, (8,), reserve("a", 9), grow("a", 4)),
              story(4, 8, (4, 4), reserve("a", 9), grow("a", 4)), next="exactly enough is enough"),
        tells("too few pages", story(4, 8, (8,), reserve("a", 9), grow("a", 2), grow("a", 5)),
              story(5, 8, (4, 8), reserve("a", 9), grow("a", 4), grow("a", 2), ),
              story(6, 8, (8,), reserve("a", 9), grow("a", 4), reserve("b", 9), grow("b", 3), grow("b", 2)),
              next="look whether there are enough before you map the first"),
        tells("beyond the addresses", story(9, 8, (4,), reserve("a", 4), grow("a", 5)),
              story(9, 8, (4,), reserve("a", 4), grow("a", 4)), story(9, 8, (8,), reserve("a", 3), grow("a", 2),
              grow("a", 4), grow("a", 3)), next="compare with max_tokens first"),
        corners("refused twice", run, render, story(9, 8, (4,), reserve("a", 1), grow("a", 2), grow("a", 2)),
                story(2, 8, (8,), reserve("a", 9), grow("a", 3), grow("a", 3)), invariant="I13",
                next="look first, and change afterwards"),
        corners("no tokens", run, render, story(4, 8, (4, 4), reserve("a", 9), grow("a", 0)),
                next="no bytes need no page"),
        tells("addresses twice", story(9, 8, (4,), reserve("a", 4), reserve("a", 8)),
              story(9, 8, (4,), reserve("a", 4), grow("a", 3), reserve("a", 4), grow("a", 4)),
              next="UsageError if it has addresses already"),
        corners("come again", run, render, story(9, 8, (4,), reserve("a", 4), grow("a", 3), free("a"), reserve("a", 9),
                grow("a", 9)), next="forget its addresses when it ends"),
        Traces("random operations", random_operations, run, render=render, next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(pages.RangesTogether,
                "Adds up the bytes of all ranges and rounds once. No page holds bytes of two ranges.", next=_EACH),
        Mistake(pages.FirstRangeOnly, "Counts the first range only.", next="add up the pages of all ranges"),
        Mistake(pages.FirstRangeTimes, "Takes all ranges for as wide as the first.",
                next="each range has its own entry in token_bytes"),
        Mistake(pages.RoundsDown, "Rounds down. The last bytes have no page then.", next="round up to whole pages"),
        Mistake(pages.OneMore, "Looks like bytes // page_bytes + 1, which adds a page even when the last is just full.",
                next="treat the exact multiple"),
        Mistake(pages.OneMoreFromTheStart,
                "Looks like bytes // page_bytes + 1, which gives a page even to a request without tokens.",
                next="treat the exact multiple, and no bytes at all"),
        Mistake(pages.WholeTokens, "Counts whole tokens for each page. Bytes lie one after the other, so a token may "
                "lie across two pages.", next="round up the bytes, not the tokens"),
        Mistake(pages.TokensForBytes, "Takes tokens for bytes.", next="num_tokens * width bytes in each range"),
        Mistake(wrong.MapsAtReserve, "Maps all pages when addresses are reserved. That is lab 02's reservation again.",
                next="reserve maps no page"),
        Mistake(wrong.MapsAtReserveUnseen,
                "Takes all pages when addresses are reserved, without a look at how many there are.",
                next="reserve maps no page"),
        Mistake(wrong.PromisesAtReserve,
                "Refuses addresses if there are too few pages for all of them. They may never be needed.",
                next="reserve looks at no page"),
        Mistake(wrong.TokensAreAdded, "Takes num_tokens for new tokens. It is how many the request has in all.",
                next=_NOW),
        Mistake(wrong.TokensSumUp, "Adds num_tokens to the tokens it has. It is how many there are in all.",
                next="num_tokens takes the place of what was there"),
        Mistake(wrong.RefusesAfter, "Maps first and looks afterwards. A refused call changes nothing.",
                invariant="I13", next="look whether there are enough before you map the first"),
        Mistake(wrong.AllAnew, "Maps all its pages anew each time. Those that it has stay where they are.", next=_NOW),
        Mistake(wrong.ReturnsTotal, "Returns all its pages. Asked for are those newly mapped.", next=_NOW),
        Mistake(wrong.ReturnsNothing, "grow returns nothing.", next="return the pages newly mapped"),
        Mistake(wrong.RangeByRange,
                "Maps range by range until no page is left, and then refuses. A refused call changes nothing.",
                invariant="I13", next="look whether there are enough before you map the first"),
        Mistake(wrong.SaysAll, "Says how many pages it would have in all. Needed are the new ones.", next=_NOW),
        Mistake(wrong.NumbersSwapped, "Looks like the two numbers have changed places.",
                next="raise OutOfPages(needed, free)"),
        Mistake(wrong.NeverRefuses, "Never refuses: soon more pages are mapped than there are.", invariant="I1",
                next="compare with num_free, and raise OutOfPages"),
        Mistake(wrong.KeepsOneBack, "Looks like >= where > is meant: the last page can be mapped too.",
                next="exactly enough is enough"),
        Mistake(wrong.NoLimit, "Grows beyond the addresses that were reserved. What comes next there may be another's.",
                next="compare with max_tokens first"),
        Mistake(wrong.LimitIsForbidden, "Looks like >= where > is meant: max_tokens tokens are allowed.",
                next="refuse more than max_tokens"),
        Mistake(wrong.LimitIsPages,
                "Says that pages are missing where addresses are. However many become free, it would not help.",
                next="raise UsageError for too many tokens"),
        Mistake(wrong.ReservesTwice,
                "Reserves again for a request that has addresses. The pages it had are lost to everybody.",
                next="UsageError if it has addresses already"),
        Mistake(wrong.NeverGivesBack, "The pages never become free again: a leak.", invariant="I1",
                next="add them to num_free"),
        Mistake(wrong.FreesOneRange, "Gives back one range. The others' pages are a leak.", invariant="I1",
                next="give back the pages of all its ranges"),
        Mistake(wrong.FreeReturnsNothing, "free returns nothing.", next="return the pages given back"),
        Mistake(wrong.KeepsTheName, "Keeps the request's addresses after its end, so it cannot come again.",
                next="forget its addresses when it ends"),
    ),
    hints=(
        "Three tokens of 4 bytes in each of two ranges, pages of 8 bytes. In how many pages do their bytes lie?",
        "For each range, bytes = num_tokens * width, rounded up to whole pages. Keep the pages that each request has: "
        "what it needs in all minus these must not be more than are free.",
        "needed = sum(-(-num_tokens * width // self.page_bytes) for width in self.token_bytes); more = needed - "
        "self.pages[request]; if more > self.num_free: raise OutOfPages(more, self.num_free)",
    ),
)
