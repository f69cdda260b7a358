"""Contiguous addresses, pages on demand: the alternative that needs no block table (vAttention).

A request's keys and values lie side by side in *addresses* that are reserved for its longest possible length and cost
nothing. Physical memory comes page by page as tokens arrive, and the hardware's page table, not ours, says where each
page lies. So attention reads ordinary contiguous tensors. The price is the page: it is the smallest piece there is, in
every address range of every request.

Source: Prabhu et al. 2024 (arXiv 2405.04437, "vAttention"), which does this with CUDA's virtual memory functions and
reports tokens up to 1.97 times as fast as vLLM's of that time (abstract, first version).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from operator import index

from kvlab.errors import InvariantBroken, OutOfPages, UsageError

from .addresses import Addresses, Backing, Span, pages_needed
from .waste import Waste

NO_BACKING = "this cache keeps accounts only: it was made without a backing"


class _Reserved:
    """The addresses of one request, its tokens, the pages they need in all, and the pages mapped in each range."""

    __slots__ = ("addresses", "fits", "max_tokens", "num_tokens", "pages", "used")

    def __init__(self, max_tokens: int, ranges: int, addresses: Addresses | None) -> None:
        self.max_tokens, self.addresses = max_tokens, addresses
        self.num_tokens, self.used, self.pages = 0, 0, [0] * ranges
        self.fits = 0  # so many tokens need no page more than these do


class VirtualCache:
    """Who has which pages, when every request has addresses of its own: integers only, unless there is a `backing`.

    num_pages: the budget, physical pages of `page_bytes` bytes for all requests together. token_bytes: one entry for
    each address range of a request, the bytes of a token there; `address_ranges` of a model gives them (one for the
    keys and one for the values of each layer). backing: makes the real addresses; None: the numbers alone.

    keep: pages of a freed request stay mapped, as spares, and the next request that is given its addresses finds them
    there; they are taken only when somebody else needs them (the paper's deferred reclamation). It never changes what
    fits. A call that is refused changes nothing (I13), except that spares may be gone.
    """

    def __init__(
        self,
        num_pages: int,
        page_bytes: int,
        token_bytes: Sequence[int],
        *,
        keep: bool = False,
        backing: Backing | None = None,
    ) -> None:
        self.num_pages, self.page_bytes, self.token_bytes = index(num_pages), index(page_bytes), tuple(token_bytes)
        if self.num_pages < 1 or self.page_bytes < 1:
            raise UsageError(f"a cache needs at least 1 page of 1 byte, not {num_pages} of {page_bytes}")
        if not self.token_bytes or min(self.token_bytes) < 1:
            raise UsageError(f"a token has at least 1 byte in each of 1 or more ranges, not {list(token_bytes)}")
        self.keep = keep
        self._backing = backing
        self._requests: dict[Hashable, _Reserved] = {}
        self._idle: list[_Reserved] = []  # of freed requests, whose pages are kept: the longest idle first
        self._mapped = self._used = 0

    def __repr__(self) -> str:
        return f"VirtualCache({len(self)} requests, {self.num_used} of {self.num_pages} pages used)"

    def __contains__(self, request: Hashable) -> bool:
        return request in self._requests

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._requests)

    @property
    def is_backed(self) -> bool:
        """Whether there is real memory behind the accounts."""
        return self._backing is not None

    @property
    def num_used(self) -> int:
        """Pages in which tokens lie."""
        return self._used

    @property
    def num_free(self) -> int:
        """Pages that `grow` can give: those that are not mapped, and the spares."""
        return self.num_pages - self._used

    @property
    def mapped_bytes(self) -> int:
        """Bytes of physical memory behind the addresses, spares included."""
        return self._mapped * self.page_bytes

    @property
    def reserved_bytes(self) -> int:
        """Bytes of address space; they cost no memory."""
        reserved = (*self._requests.values(), *self._idle)
        return sum(sum(self._range_bytes(one.max_tokens)) for one in reserved)

    def resident_bytes(self) -> int:
        """Bytes of physical memory behind all addresses, as measured and not as counted. No backing: `UsageError`."""
        if self._backing is None:
            raise UsageError(NO_BACKING)
        reserved = (*self._requests.values(), *self._idle)
        return sum(one.addresses.resident_bytes() for one in reserved if one.addresses)

    def num_tokens(self, request: Hashable) -> int:
        """Tokens of `request` that are there."""
        return self._find(request).num_tokens

    def pages(self, request: Hashable) -> list[int]:
        """Pages mapped in each address range of `request`, from the front."""
        return self._find(request).pages.copy()

    def addresses(self, request: Hashable) -> Addresses:
        """The real addresses of `request`, as its backing made them. Without a backing: `UsageError`."""
        addresses = self._find(request).addresses
        if addresses is None:
            raise UsageError(NO_BACKING)
        return addresses

    def reserve(self, request: Hashable, max_tokens: int) -> None:
        """Set addresses aside for a request of at most `max_tokens` (>= 1) tokens. No page is mapped.

        With `keep`, the addresses that were freed last and are long enough are used again, with their pages. A request
        that has addresses already: `UsageError`.
        """
        max_tokens = index(max_tokens)
        if request in self._requests:
            raise UsageError(f"request {request!r} has addresses already")
        if max_tokens < 1:
            raise UsageError(f"addresses are reserved for at least 1 token, not {max_tokens}")
        for place in reversed(range(len(self._idle))):
            if self._idle[place].max_tokens >= max_tokens:
                self._requests[request] = self._idle.pop(place)
                return
        self._requests[request] = _Reserved(max_tokens, len(self.token_bytes), self._new_addresses(max_tokens))

    def missing(self, request: Hashable, num_tokens: int) -> int:
        """Pages that `request` needs beyond those in which its tokens lie, to hold `num_tokens` tokens in all."""
        return sum(self._needed(num_tokens)) - self._find(request).used

    def grow(self, request: Hashable, num_tokens: int) -> int:
        """From now on `request` holds `num_tokens` tokens in all. Returns the pages newly mapped, in all its ranges.

        More pages than are free: `OutOfPages`, with the numbers needed and there, and nothing is mapped. More tokens
        than addresses were reserved for, or fewer than there are: `UsageError`.
        """
        one, num_tokens = self._find(request), index(num_tokens)
        if one.num_tokens <= num_tokens <= min(one.fits, one.max_tokens):  # nearly every decode step
            one.num_tokens = num_tokens
            return 0
        if not one.num_tokens <= num_tokens <= one.max_tokens:
            raise UsageError(
                f"request {request!r} can grow from {one.num_tokens} to {one.max_tokens} tokens, not to {num_tokens}"
            )
        needed, more = self._needed(num_tokens), self.missing(request, num_tokens)
        if more > self.num_free:
            raise OutOfPages(more, self.num_free)
        spans = [(i, have, need) for i, (have, need) in enumerate(zip(one.pages, needed, strict=True)) if need > have]
        mapped = sum(stop - first for _, first, stop in spans)
        if self._mapped + mapped > self.num_pages:
            self._take_spares(self._mapped + mapped - self.num_pages, one, needed)
            self._close_empty()
        if one.addresses and spans:
            one.addresses.map(spans)
        for i, _, stop in spans:
            one.pages[i] = stop
        one.num_tokens, one.used = num_tokens, one.used + more
        one.fits = min(pages * self.page_bytes // width for pages, width in zip(needed, self.token_bytes, strict=True))
        self._used, self._mapped = self._used + more, self._mapped + mapped
        return mapped

    def free(self, request: Hashable) -> int:
        """End `request`. Returns the pages that others can have now; with `keep` they stay mapped until then."""
        one = self._find(request)
        del self._requests[request]
        used = one.used
        self._used, one.num_tokens, one.used, one.fits = self._used - used, 0, 0, 0
        self._idle.append(one)
        if self.keep:
            self._close_empty()
        else:
            self.reclaim()
        return used

    def reclaim(self) -> int:
        """Unmap every spare page now, and give up the addresses that nobody uses. Returns the pages unmapped."""
        before = self._mapped
        self._take_spares(self._mapped - self._used)
        self._close_empty()
        return before - self._mapped

    def waste(self) -> Waste:
        """Where the bytes of the budget are: under tokens, in the rest of pages that have tokens, or free."""
        held = sum(one.num_tokens for one in self._requests.values()) * sum(self.token_bytes)
        used = self._used * self.page_bytes
        return Waste(held=held, internal=used - held, free=self.num_pages * self.page_bytes - used)

    def check(self) -> None:
        """Raise `InvariantBroken` if the counts are not those of a walk, or measured pages are not those counted.

        No more pages mapped than the budget has (I1); in every range the pages its tokens need, and without `keep` no
        other (I3); and, where there is a backing, the same pages in the real memory (I1).
        """
        everyone = (*self._requests.values(), *self._idle)
        mapped, used = sum(sum(one.pages) for one in everyone), sum(one.used for one in self._requests.values())
        if (mapped, used) != (self._mapped, self._used) or not used <= mapped <= self.num_pages:
            raise InvariantBroken(
                "I1",
                f"{mapped} pages are mapped and {used} used, counted were {self._mapped} and {self._used}, "
                f"and there are {self.num_pages}",
            )
        for one in everyone:
            self._check_one(one)

    def _check_one(self, one: _Reserved) -> None:
        needed = self._needed(one.num_tokens)
        short = any(have < need for have, need in zip(one.pages, needed, strict=True))
        if short or one.used != sum(needed) or (not self.keep and one.pages != needed):
            raise InvariantBroken("I3", f"{one.num_tokens} tokens need {needed} pages, mapped are {one.pages}")
        if one.num_tokens > one.max_tokens:
            raise InvariantBroken("I3", f"{one.num_tokens} tokens lie in addresses for {one.max_tokens}")
        if one.addresses:
            one.addresses.check(one.pages)

    def _find(self, request: Hashable) -> _Reserved:
        try:
            return self._requests[request]
        except KeyError:
            raise UsageError(f"request {request!r} has no addresses: reserve them first") from None

    def _needed(self, num_tokens: int) -> list[int]:
        return pages_needed(num_tokens, self.token_bytes, self.page_bytes)

    def _new_addresses(self, max_tokens: int) -> Addresses | None:
        if self._backing is None:
            return None
        sizes = self._range_bytes(max_tokens)
        try:
            return self._backing(sizes, self.page_bytes)
        except UsageError:
            if not self._idle:
                raise
        self.reclaim()  # idle addresses, all too short, may be what is in the way
        return self._backing(sizes, self.page_bytes)

    def _range_bytes(self, max_tokens: int) -> list[int]:
        """Bytes of each address range for `max_tokens` tokens: whole pages."""
        return [pages * self.page_bytes for pages in self._needed(max_tokens)]

    def _take_spares(self, count: int, growing: _Reserved | None = None, needed: Sequence[int] = ()) -> None:
        """Unmap spares until `count` pages are, from the longest idle on; `growing` is about to need `needed`."""
        for one in (*self._idle, *self._requests.values()):
            if count <= 0:
                break
            if one is not growing and sum(one.pages) == one.used:
                continue
            keep = needed if one is growing else self._needed(one.num_tokens)
            spans = []
            for i, (have, need) in enumerate(zip(one.pages, keep, strict=True)):
                taken = min(count, max(0, have - need))
                count -= taken
                if taken:
                    spans.append((i, have - taken, have))
            self._unmap(one, spans)

    def _unmap(self, one: _Reserved, spans: Sequence[Span]) -> None:
        if one.addresses and spans:
            one.addresses.unmap(spans)
        for i, first, stop in spans:
            one.pages[i] = first
            self._mapped -= stop - first

    def _close_empty(self) -> None:
        """Give up the idle addresses that have no page left."""
        for one in [one for one in self._idle if not sum(one.pages)]:
            self._idle.remove(one)
            if one.addresses:
                one.addresses.close()
