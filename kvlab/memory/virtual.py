"""Contiguous addresses, pages on demand: the alternative that needs no block table (vAttention).

A request's keys and values lie side by side in *addresses* that are reserved for its longest possible length and cost
nothing. Physical memory comes page by page as tokens arrive, and the hardware's page table, not ours, says where each
page lies. So attention reads ordinary contiguous tensors. The price is the page: it is the smallest piece there is, in
every address range of every request.

Source: Prabhu et al. 2024 (arXiv 2405.04437, "vAttention"), which does this with CUDA's virtual memory functions and
reports tokens up to 1.97 times as fast as vLLM's of that time (abstract, first version).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import index

from kvlab.errors import OutOfPages, UsageError

from .addresses import Addresses, Backing
from .page_accounts import PageAccounts
from .reservation import Reservation


class VirtualCache(PageAccounts):
    """Who has which pages, when every request has addresses of its own: integers only, unless there is a `backing`.

    num_pages: the budget, physical pages of `page_bytes` bytes for all requests together. token_bytes: one entry for
    each address range of a request, the bytes of a token there; `address_ranges` of a model gives them (one for the
    keys and one for the values of each layer). backing: makes the real addresses; None: the numbers alone.

    keep: pages of a freed request stay mapped, as spares, and the next request that is given its addresses finds them
    there; they are taken only when somebody else needs them (the paper's deferred reclamation). It never changes what
    fits. A call that is refused changes nothing (I13), except that spares may be gone.
    """

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
            if self._idle[place].room >= max_tokens:
                one = self._requests[request] = self._idle.pop(place)
                one.max_tokens = max_tokens
                return
        one = Reservation(max_tokens, self.token_bytes, self.page_bytes)
        if self._backing is not None:
            one.addresses = self._real(self._backing, one.sizes)
        self._requests[request] = one

    def missing(self, request: Hashable, num_tokens: int) -> int:
        """Pages that `request` needs beyond those in which its tokens lie, to hold `num_tokens` tokens in all."""
        one = self._find(request)
        return sum(one.needed(num_tokens)) - one.used

    def grow(self, request: Hashable, num_tokens: int) -> int:
        """From now on `request` holds `num_tokens` tokens in all. Returns the pages newly mapped, in all its ranges.

        More pages than are free: `OutOfPages`, with the numbers needed and there, and nothing is mapped. More tokens
        than addresses were reserved for, or fewer than there are: `UsageError`.
        """
        one, num_tokens = self._find(request), index(num_tokens)
        if one.num_tokens <= num_tokens <= one.fits:  # nearly every decode step
            one.num_tokens = num_tokens
            return 0
        if not one.num_tokens <= num_tokens <= one.max_tokens:
            raise UsageError(
                f"request {request!r} can grow from {one.num_tokens} to {one.max_tokens} tokens, not to {num_tokens}"
            )
        needed = one.needed(num_tokens)
        more = sum(needed) - one.used
        if more > self.num_free:
            raise OutOfPages(more, self.num_free)
        mapped = one.unmapped(needed)
        self._take_spares(self._mapped + mapped - self.num_pages, one, needed)
        one.map(needed)
        one.hold(num_tokens)
        self._used, self._mapped = self._used + more, self._mapped + mapped
        return mapped

    def free(self, request: Hashable) -> int:
        """End `request`. Returns the pages that others can have now; with `keep` they stay mapped until then."""
        one = self._find(request)
        del self._requests[request]
        used = one.used
        one.hold(0)
        self._used -= used
        self._idle.append(one)
        if self.keep:
            self._close_empty()
        else:
            self.reclaim()
        return used

    def reclaim(self) -> int:
        """Unmap every spare page now, and give up the addresses that nobody uses. Returns the pages unmapped."""
        before = self._mapped
        self._take_spares(before - self._used)
        return before - self._mapped

    def _real(self, backing: Backing, sizes: Sequence[int]) -> Addresses:
        """Ranges of so many bytes, for which idle addresses, all too short, are given up if they are in the way."""
        try:
            return backing(sizes, self.page_bytes)
        except UsageError:
            if not self._idle:
                raise
        self.reclaim()
        return backing(sizes, self.page_bytes)

    def _take_spares(self, count: int, growing: Reservation | None = None, needed: Sequence[int] = ()) -> None:
        """Unmap `count` spares, from the longest idle on, but none of those that `growing` is about to need."""
        for one in self._all():
            if count <= 0:
                break
            if one is growing or sum(one.pages) > one.used:
                taken = one.unmap(count, needed if one is growing else one.needed(one.num_tokens))
                count, self._mapped = count - taken, self._mapped - taken
        self._close_empty()

    def _close_empty(self) -> None:
        """Give up the idle addresses that have no page left."""
        for one in [one for one in self._idle if not sum(one.pages)]:
            self._idle.remove(one)
            if one.addresses:
                one.addresses.close()
