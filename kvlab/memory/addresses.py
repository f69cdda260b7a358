"""Address ranges and pages in numbers: how a model's keys and values are laid into them, and what whole pages cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Protocol

from kvlab.errors import UsageError

from .shapes import KVShape

Span = tuple[int, int, int]
"""(address range, first page, stop page) of one request: the pages from the first on, without the stop."""


class Addresses(Protocol):
    """Real address ranges of one request, in which a `VirtualCache` maps pages and takes them back.

    Whoever makes one is given the bytes of each range and of a page.
    """

    def map(self, spans: Sequence[Span]) -> None:
        """Put physical pages behind `spans`; all of them or, with an exception, none."""

    def unmap(self, spans: Sequence[Span]) -> None:
        """Give the physical pages behind `spans` back."""

    def check(self, pages: Sequence[int]) -> None:
        """Measure that range i has its first `pages[i]` pages and no other; `InvariantBroken` if not."""

    def resident_bytes(self) -> int:
        """Bytes of physical memory behind all of these addresses, as measured."""

    def close(self) -> None:
        """Give up the addresses, none of which has a page."""


Backing = Callable[[Sequence[int], int], Addresses]
"""Reserves one range for each number of bytes, in pages of so many bytes."""


def pages_needed(num_tokens: int, token_bytes: Sequence[int], page_bytes: int) -> list[int]:
    """Pages that `num_tokens` tokens take in each address range, `token_bytes[i]` bytes a token in range i."""
    return [-(-num_tokens * width // page_bytes) for width in token_bytes]


def address_ranges(shape: KVShape, sliced: bool = False) -> list[int]:
    """Bytes of one token in each address range of a request, as `VirtualCache` takes them.

    - A range for the keys and one for the values of every layer, as the paper begins: 64 for Llama-3-8B, 2 KiB a token
      in each, so that a page of 2 MiB is 1,024 tokens of one layer.
    - `sliced`: all layers of a token side by side, keys in one range and values in another, of which each layer sees a
      slice (the paper's tensor slicing, `megacache` in its code): 64 KiB a token for Llama-3-8B, so that a page of
      2 MiB is 32 tokens of all layers.

    Latents (MLA) are one range where there would be two. Layers with a window are given pages like the others. Layers
    of other shapes (`shape.others`) follow, with ranges of their own. Source: arXiv 2405.04437.
    """
    if shape.latent_dim:
        parts = [shape.bytes_per_layer]
    else:
        keys = shape.kv_heads * shape.head_dim * shape.bytes_per_number
        parts = [keys, shape.bytes_per_layer - keys]
    ranges = [part * shape.layers for part in parts] if sliced else parts * shape.layers
    for other in shape.others:
        ranges += address_ranges(other, sliced)
    return ranges


def virtual_waste(token_bytes: Sequence[int], page_bytes: int, requests: int = 1) -> float:
    """Bytes that `requests` requests waste in the last pages of their ranges, on average over all lengths.

    Half a page less half a token for each range of each request: where a page holds whole tokens, its last one is as
    often empty but for 1 token as full, so (page - token) / 2. In general the end of a range can lie at any multiple
    of the greatest common divisor of both sizes. Requests shorter than a page waste what it has beyond them.
    """
    if page_bytes < 1 or requests < 0 or not token_bytes or min(token_bytes) < 1:
        raise UsageError(
            f"no waste of {requests} requests with {list(token_bytes)} bytes a token in {page_bytes} a page"
        )
    return requests * sum((page_bytes - gcd(width, page_bytes)) / 2 for width in token_bytes)
