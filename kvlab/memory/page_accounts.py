"""The pages of requests that have addresses of their own: what can be read of them. A `VirtualCache` changes them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from operator import index

from kvlab.errors import InvariantBroken, UsageError

from .addresses import Addresses, Backing
from .reservation import Reservation
from .waste import Waste

NO_BACKING = "this cache keeps accounts only: it was made without a backing"


class PageAccounts:
    """A budget of `num_pages` pages of `page_bytes` bytes, and what of it each request has; see `VirtualCache`.

    No page, a page or a token of no byte, no range, and whatever names a request without addresses: `UsageError`.
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
        self._requests: dict[Hashable, Reservation] = {}
        self._idle: list[Reservation] = []  # of freed requests, whose pages are kept: the longest idle first
        self._mapped = self._used = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} requests, {self.num_used} of {self.num_pages} pages used)"

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
        return sum(sum(one.sizes) for one in self._all())

    def resident_bytes(self) -> int:
        """Bytes of physical memory behind all addresses, as measured and not as counted. No backing: `UsageError`."""
        if self._backing is None:
            raise UsageError(NO_BACKING)
        return sum(one.addresses.resident_bytes() for one in self._all() if one.addresses)

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
        mapped, used = sum(sum(one.pages) for one in self._all()), sum(one.used for one in self._all())
        if (mapped, used) != (self._mapped, self._used) or not used <= mapped <= self.num_pages:
            raise InvariantBroken(
                "I1",
                f"{mapped} pages are mapped and {used} used, counted were {self._mapped} and {self._used}, "
                f"and there are {self.num_pages}",
            )
        for one in self._all():
            one.check(spares=self.keep)

    def _all(self) -> list[Reservation]:
        """Of freed requests, the longest idle first, and then of those that are there."""
        return [*self._idle, *self._requests.values()]

    def _find(self, request: Hashable) -> Reservation:
        try:
            return self._requests[request]
        except KeyError:
            raise UsageError(f"request {request!r} has no addresses: reserve them first") from None
