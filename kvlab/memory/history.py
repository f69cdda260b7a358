"""A sequence's tokens as prefix caches see them: one piece of bytes, converted once, and the keys of its blocks."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, overload

import numpy as np

from kvlab.errors import UsageError

HashFunction = Callable[[Any, bytes], Hashable]
"""`(key of the block before, a block's tokens as bytes) -> key`. The first one gets b"" and the tag's bytes."""

TOKEN_BYTES = 4
_ORDER = "" if sys.byteorder == "little" else "<"  # native packing is several times as fast where it is the same


def chain_sha256(before: bytes, block: bytes) -> bytes:
    """32 bytes for all tokens up to the end of this block: nobody has ever found two texts with the same."""
    return sha256(before + block).digest()


def token_bytes(tokens: Iterable[int]) -> bytes:
    """Each token as int32, little-endian: the same bytes, and so the same keys, on every machine.

    What is no whole number of 32 bits raises `UsageError`.
    """
    if isinstance(tokens, np.ndarray):
        tokens = tokens.tolist()  # as ints, whatever their type: a cast would wrap around
    ids = tokens if isinstance(tokens, list | tuple) else list(tokens)
    try:
        return struct.pack(f"{_ORDER}{len(ids)}i", *ids)
    except struct.error:
        raise UsageError(f"tokens are whole numbers of 32 bits, not such as {ids!r:.60}") from None


def tag_bytes(tag: Iterable[Hashable]) -> bytes:
    """A request's tag as bytes that no other tag has: (adapter, salt, what else its keys and values depend on).

    A tag is a tuple of str, bytes, int, bool, None and such tuples; anything else raises `UsageError`. Types and
    places count: ("X", None) is not (None, "X"), and 1 is not True.
    """
    if tag == () and type(tag) is tuple:
        return b"()"  # nearly always
    if type(tag) is not tuple or not _plain(tag):
        raise UsageError(f"a tag is a tuple of strings, bytes, whole numbers, None and such tuples, not {tag!r:.60}")
    return repr(tag).encode()


def _plain(part: object) -> bool:
    if type(part) is tuple:
        return all(map(_plain, part))
    return part is None or type(part) in (str, bytes, int, bool)


class History(Sequence[int]):
    """What a sequence has said so far, to be read like a list of tokens, and its tag.

    An index takes any sequence of tokens; a history it need not convert and hash again and again.
    """

    __slots__ = ("_keys", "data", "keyed_by", "tag")

    def __init__(self, tokens: Iterable[int], tag: tuple[Hashable, ...] = ()) -> None:
        self.data, self.tag = token_bytes(tokens), tag_bytes(tag)
        self._keys: list[Hashable] = []
        self.keyed_by: tuple[int, HashFunction] | None = None  # block size and function of the keys that it has

    def __repr__(self) -> str:
        return f"History({len(self)} tokens, tag {self.tag.decode()})"

    def __len__(self) -> int:
        return len(self.data) // TOKEN_BYTES

    def __iter__(self) -> Iterator[int]:
        return iter(self[:])

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        found = np.frombuffer(self.data, dtype="<i4")[place]
        return found.tolist()

    def extend(self, tokens: Iterable[int]) -> None:
        """Add tokens at the end."""
        self.data += token_bytes(tokens)

    def keys(self, block_size: int, function: HashFunction, like: History | None = None) -> list[Hashable]:
        """The tag's key and then that of each full block, each made from the one before. To be read, not written.

        like: a history with the same tag, to whose keys those of the beginning that both share need only be compared.
        """
        if self.keyed_by != (block_size, function):
            self.keyed_by, self._keys = (block_size, function), [function(b"", self.tag)]
            if like is not None and like.tag == self.tag:
                equal = equal_units(self.data, like.data, block_size * TOKEN_BYTES)
                self._keys = like.keys(block_size, function)[: equal + 1]
        keys, data, width = self._keys, self.data, block_size * TOKEN_BYTES
        key = keys[-1]
        for start in range((len(keys) - 1) * width, len(data) - width + 1, width):
            key = function(key, data[start : start + width])
            keys.append(key)
        return keys


def equal_units(one: bytes, other: bytes, width: int) -> int:
    """With how many equal pieces of `width` bytes both begin: a few comparisons of long pieces."""
    low, high = 0, min(len(one), len(other)) // width
    if one[: high * width] == other[: high * width]:
        return high
    while low + 1 < high:  # `low` pieces are equal, `high` are not
        middle = (low + high) // 2
        if one[: middle * width] == other[: middle * width]:
            low = middle
        else:
            high = middle
    return low


def history_of(tokens: Iterable[int], tag: tuple[Hashable, ...] = ()) -> History:
    """`tokens` as a history; one that is one already keeps its tag, and another `tag` beside it raises `UsageError`."""
    if type(tokens) is not History:
        return History(tokens, tag)
    if tag and tag_bytes(tag) != tokens.tag:
        raise UsageError(f"these tokens carry the tag {tokens.tag.decode()}, not {tag!r:.60}")
    return tokens
