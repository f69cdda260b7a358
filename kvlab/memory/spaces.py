"""Real addresses behind a `VirtualCache`: on Linux by `mmap`, page by page as they are touched; on a GPU by its driver.

A `Space` is one stretch of reserved addresses. A request has one for each address range (`own_spaces`), or its place in
spaces that all requests share, one behind the other, so that a batch is one tensor (`RowSpaces`, as the paper does it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kvlab.errors import InvariantBroken, UsageError

from .addresses import Span


class Space(Protocol):
    """One stretch of reserved addresses, in which physical pages come and go."""

    def map(self, first: int, stop: int) -> None:
        """Put physical pages behind pages `first` to `stop - 1`; all of them or, with an exception, none."""

    def unmap(self, first: int, stop: int) -> None:
        """Give these back. What lay in them is lost."""

    def resident(self, first: int, stop: int) -> list[int]:
        """The bytes of physical memory behind each of these pages, as measured."""

    def buffer(self) -> Any:
        """What a tensor over the whole space is made from."""

    def close(self) -> None:
        """Give up the addresses."""


MakeSpace = Callable[[int, int], Space]
"""Reserves so many bytes of addresses, in pages of so many bytes."""


class SpaceAddresses:
    """One request's `Addresses`: `pages[i]` pages of `spaces[i]`, from its page `first[i]` on; `on_close` ends it."""

    def __init__(
        self,
        spaces: Sequence[Space],
        first: Sequence[int],
        pages: Sequence[int],
        page_bytes: int,
        on_close: Callable[[], None],
    ) -> None:
        self.spaces, self.first, self._pages = list(spaces), list(first), list(pages)
        self.page_bytes, self._on_close = page_bytes, on_close

    def map(self, spans: Sequence[Span]) -> None:
        """See `Addresses.map`."""
        done: list[Span] = []
        try:
            for i, first, stop in spans:
                self.spaces[i].map(self.first[i] + first, self.first[i] + stop)
                done.append((i, first, stop))
        except BaseException:
            self.unmap(done)
            raise

    def unmap(self, spans: Sequence[Span]) -> None:
        """See `Addresses.unmap`."""
        for i, first, stop in spans:
            self.spaces[i].unmap(self.first[i] + first, self.first[i] + stop)

    def resident_bytes(self) -> int:
        """Bytes of physical memory behind all of these addresses, as measured."""
        return sum(sum(self._measured(i)) for i in range(len(self.spaces)))

    def check(self, pages: Sequence[int]) -> None:
        """See `Addresses.check`."""
        for i, counted in enumerate(pages):
            for page, found in enumerate(self._measured(i)):
                wanted = self.page_bytes if page < counted else 0
                if found != wanted:
                    raise InvariantBroken("I1", f"page {page} of range {i} has {found} bytes of memory, not {wanted}")

    def close(self) -> None:
        """See `Addresses.close`."""
        self._on_close()

    def _measured(self, i: int) -> list[int]:
        return self.spaces[i].resident(self.first[i], self.first[i] + self._pages[i])


def own_spaces(make: MakeSpace) -> Callable[[Sequence[int], int], SpaceAddresses]:
    """Every request gets spaces of its own, one for each address range: any length may be reserved."""

    def reserve(sizes: Sequence[int], page_bytes: int) -> SpaceAddresses:
        spaces: list[Space] = []

        def close() -> None:
            for space in spaces:
                space.close()

        try:
            for size in sizes:
                spaces.append(make(size, page_bytes))
        except BaseException:
            close()
            raise
        return SpaceAddresses(spaces, [0] * len(sizes), [size // page_bytes for size in sizes], page_bytes, close)

    return reserve


class RowSpaces:
    """A `Backing` that reserves one space for each address range, with `rows` places of equal size one after another.

    So a layer's keys of all requests are one tensor `[rows, max_tokens, ...]`, as batched kernels want it. Each place
    begins at a page. sizes: bytes of a place in each space. When all places are taken, a request more is refused with
    `UsageError`, and so is one for more bytes than a place has.
    """

    def __init__(self, make: MakeSpace, rows: int, sizes: Sequence[int], page_bytes: int) -> None:
        if rows < 1 or any(size % page_bytes for size in sizes):
            raise UsageError(
                f"there are places for at least 1 request, of whole pages: not {rows} of {list(sizes)} bytes"
            )
        self.rows, self.sizes, self.page_bytes = rows, list(sizes), page_bytes
        self._all = own_spaces(make)([size * rows for size in sizes], page_bytes)
        self.spaces = self._all.spaces
        self._free = list(range(rows - 1, -1, -1))

    def __call__(self, sizes: Sequence[int], page_bytes: int) -> SpaceAddresses:
        """The addresses of the lowest free place."""
        if page_bytes != self.page_bytes or any(need > there for need, there in zip(sizes, self.sizes, strict=True)):
            raise UsageError(f"a place has {self.sizes} bytes in pages of {self.page_bytes}, not {list(sizes)}")
        if not self._free:
            raise UsageError(f"needed a place for 1 request more, all {self.rows} are taken")
        row = self._free.pop()
        first = [row * size // page_bytes for size in self.sizes]
        pages = [size // page_bytes for size in self.sizes]
        return SpaceAddresses(self.spaces, first, pages, page_bytes, lambda: self._give_back(row))

    def place(self, addresses: SpaceAddresses) -> int:
        """Which place `addresses` are, from 0."""
        return addresses.first[0] * self.page_bytes // self.sizes[0]

    def close(self) -> None:
        """Give up all addresses."""
        self._all.close()

    def _give_back(self, row: int) -> None:
        self._free.append(row)
        self._free.sort(reverse=True)
