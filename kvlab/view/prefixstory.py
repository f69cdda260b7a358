"""The story that the prefix explorer tells: customers whose prompts begin alike, in a pool too small for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from kvlab.errors import UsageError
from kvlab.memory import CachedBlock, blocks_needed
from kvlab.view.kinds import counted

NUM_BLOCKS, BLOCK_SIZE = 12, 4
TEXTS = {"greeting": 8, "pizza menu": 8, "sushi menu": 8}
"""What several prompts have in common, in tokens. What is no such text is a customer's own."""


class Moment(NamedTuple):
    """The state after one event.

    tables: by customer. known: the text and the chain's place of each block with a hash. hit, computed, gone: blocks
    that were found, were computed, or lost their hash in this event.
    """

    words: str
    tables: dict[str, list[int]]
    known: dict[int, str]
    hit: tuple[int, ...] = ()
    computed: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()


class Books:
    """A prefix cache made of three functions: who owns which block, and which block is found under which hash."""

    def __init__(self, block_hashes: Callable, longest_hit: Callable, evict: Callable) -> None:
        self.block_hashes, self.longest_hit, self.evict = block_hashes, longest_hit, evict
        self.blank = list(range(NUM_BLOCKS))  # free, and without a hash
        self.block_of: dict[Any, int] = {}
        self.parent: dict[int, int | None] = {}
        self.used: dict[int, int] = {}
        self.tables: dict[str, list[int]] = {}
        self.text: dict[int, str] = {}
        self.moments: list[Moment] = []

    def owners(self, block: int) -> int:
        return sum(block in table for table in self.tables.values())

    def cached(self) -> list[CachedBlock]:
        """Every block with a hash, as `evict` is told of it."""
        return [CachedBlock(block, self.parent[block], self.owners(block), self.used[block]) for block in self.text]

    def arrive(self, name: str, parts: Sequence[tuple[str, int]]) -> None:
        """A customer with a prompt made of texts: what is known is taken over, the rest is computed."""
        tokens, labels = _tokens(name, parts)
        hashes = self.block_hashes(tokens, BLOCK_SIZE)
        hit = list(self.longest_hit(hashes, self.block_of, len(tokens), BLOCK_SIZE))
        self.tables[name] = hit  # owned from now on, so that they are not evicted for the rest
        missing = blocks_needed(len(tokens), BLOCK_SIZE) - len(hit)
        gone = self._make_room(missing)
        computed = [self.blank.pop(0) for _ in range(missing)]
        self.tables[name] = table = hit + computed
        twins = [(table[place], self.block_of[key]) for place, key in enumerate(hashes)
                 if place >= len(hit) and key in self.block_of]
        for place, key in enumerate(hashes):
            if key not in self.block_of:
                self._file(table, place, key, labels[place])
        for block in table:
            self.used[block] = len(self.moments)
        self.note(_arrives(name, len(tokens), hit, gone) + _unfiled(twins), hit, computed, gone)

    def _make_room(self, missing: int) -> list[int]:
        short = missing - len(self.blank)
        gone = list(self.evict(self.cached(), short)) if short > 0 else []
        if len(gone) < short:
            raise UsageError(f"{counted(missing, 'block')} are needed, and {len(self.blank) + len(gone)} can be had")
        for block in gone:
            self.block_of = {key: other for key, other in self.block_of.items() if other != block}
            del self.text[block], self.parent[block]
            self.blank.append(block)
        return gone

    def _file(self, table: list[int], place: int, key: Any, label: str) -> None:
        block = table[place]
        self.block_of[key], self.text[block] = block, label
        self.parent[block] = table[place - 1] if place else None

    def leave(self, name: str) -> None:
        """A customer ends: what nobody owns and nobody could find is blank."""
        table = self.tables.pop(name)
        idle = [block for block in table if not self.owners(block)]
        blank = [block for block in idle if block not in self.text]
        self.blank += blank
        kept = len(idle) - len(blank)
        said = [f"{counted(len(blank), 'block')} without a hash free again"] if blank else []
        said += [f"{counted(kept, 'block')} without an owner can still be found"] if kept else []
        self.note(f"{name} ends: {'; '.join(said) or 'others own all of its blocks'}")

    def note(self, words: str, hit: Iterable[int] = (), computed: Iterable[int] = (), gone: Iterable[int] = ()) -> None:
        tables = {name: list(table) for name, table in self.tables.items()}
        self.moments.append(Moment(words, tables, dict(self.text), tuple(hit), tuple(computed), tuple(gone)))


def _tokens(name: str, parts: Sequence[tuple[str, int]]) -> tuple[list[int], list[str]]:
    """The prompt, and for each block the text that its last token belongs to."""
    tokens: list[int] = []
    labels: list[str] = []
    for text, length in parts:
        number = list(TEXTS).index(text) if text in TEXTS else 100 + sum(map(ord, name + text))
        tokens += range(1000 * number, 1000 * number + length)
        labels += [text if text in TEXTS else f"{name}'s {text}"] * length
    return tokens, labels[BLOCK_SIZE - 1 :: BLOCK_SIZE]


def _arrives(name: str, tokens: int, hit: list[int], gone: list[int]) -> str:
    found = len(hit) * BLOCK_SIZE
    words = f"{name} arrives with {tokens} tokens: {found} are found, {tokens - found} are computed"
    are = f"s {', '.join(map(str, gone))} are" if len(gone) > 1 else f" {gone[0]} is" if gone else ""
    return words + (f"; block{are} evicted for them" if gone else "")


def _unfiled(twins: list[tuple[int, int]]) -> str:
    """Why full blocks that were computed now cannot be found themselves: (block, who is found in its place)."""
    return "".join(f"; block {block} gets no hash, as its own leads to block {known} already" for block, known in twins)


def play(block_hashes: Callable, longest_hit: Callable, evict: Callable) -> list[Moment]:
    """The whole story, moved by these three functions."""
    books = Books(block_hashes, longest_hit, evict)
    greeting, pizza, sushi = TEXTS.items()
    books.arrive("Ana", [greeting, pizza, ("question", 3)])
    books.arrive("Ben", [greeting, pizza, ("question", 2)])
    books.arrive("Carl", [greeting, sushi, ("question", 3)])
    for name in ("Ana", "Ben", "Carl"):
        books.leave(name)
    books.arrive("Dora", [greeting, pizza])
    books.arrive("Erik", [("letter", 30)])
    books.leave("Dora")
    books.arrive("Fay", [greeting, sushi])
    books.leave("Erik")
    books.leave("Fay")
    books.arrive("Gus", [("complaint", 38)])
    return books.moments
