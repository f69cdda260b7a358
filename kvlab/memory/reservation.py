"""One request's reserved addresses: the tokens that are there, the pages they need, and the pages that are mapped."""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.errors import InvariantBroken

from .addresses import Addresses, pages_needed


class Reservation:
    """Addresses for at most `max_tokens` tokens, with `token_bytes[i]` bytes a token in range i, and no page yet.

    pages: how many are mapped in each range, from the front. used: how many, in all ranges, the tokens need; those
    beyond are spares. fits: so many tokens need no page more than these do. addresses: the real ones, if there are any.
    room: tokens for which these are long enough, which are more where they were another's before.
    """

    __slots__ = ("addresses", "fits", "max_tokens", "num_tokens", "page_bytes", "pages", "room", "token_bytes", "used")

    def __init__(self, max_tokens: int, token_bytes: tuple[int, ...], page_bytes: int) -> None:
        self.max_tokens = self.room = max_tokens
        self.token_bytes, self.page_bytes = token_bytes, page_bytes
        self.addresses: Addresses | None = None
        self.pages = [0] * len(token_bytes)
        self.hold(0)

    @property
    def sizes(self) -> list[int]:
        """Bytes of each range: whole pages."""
        return [pages * self.page_bytes for pages in self.needed(self.room)]

    def needed(self, num_tokens: int) -> list[int]:
        """Pages that so many tokens take in each range."""
        return pages_needed(num_tokens, self.token_bytes, self.page_bytes)

    def hold(self, num_tokens: int) -> None:
        """So many tokens are there from now on; their pages are mapped, others are spares."""
        needed = self.needed(num_tokens)
        fitting = (pages * self.page_bytes // width for pages, width in zip(needed, self.token_bytes, strict=True))
        self.num_tokens, self.used, self.fits = num_tokens, sum(needed), min(self.max_tokens, *fitting)

    def unmapped(self, needed: Sequence[int]) -> int:
        """How many of the first `needed[i]` pages of each range i are not mapped."""
        return sum(max(0, need - have) for have, need in zip(self.pages, needed, strict=True))

    def map(self, needed: Sequence[int]) -> None:
        """Map the first `needed[i]` pages of each range i, as far as they are not; all or, with an exception, none."""
        pairs = enumerate(zip(self.pages, needed, strict=True))
        spans = [(i, have, need) for i, (have, need) in pairs if need > have]
        if self.addresses and spans:
            self.addresses.map(spans)
        for i, _, stop in spans:
            self.pages[i] = stop

    def unmap(self, most: int, kept: Sequence[int]) -> int:
        """Take up to `most` pages from the ends of the ranges, beyond the first `kept[i]` of each; returns how many."""
        spans, left = [], most
        for i, (have, keep) in enumerate(zip(self.pages, kept, strict=True)):
            taken = min(left, max(0, have - keep))
            left -= taken
            if taken:
                spans.append((i, have - taken, have))
        if self.addresses and spans:
            self.addresses.unmap(spans)
        for i, first, _ in spans:
            self.pages[i] = first
        return most - left

    def check(self, spares: bool) -> None:
        """In every range the pages that its tokens need, and others only if there may be `spares` (I3).

        Where there are real addresses, the same pages in them, as measured (I1).
        """
        needed = self.needed(self.num_tokens)
        if self.unmapped(needed) or self.used != sum(needed) or (not spares and self.pages != needed):
            raise InvariantBroken("I3", f"{self.num_tokens} tokens need {needed} pages, mapped are {self.pages}")
        if self.num_tokens > self.max_tokens:
            raise InvariantBroken("I3", f"{self.num_tokens} tokens lie in addresses for {self.max_tokens}")
        if self.addresses:
            self.addresses.check(self.pages)
