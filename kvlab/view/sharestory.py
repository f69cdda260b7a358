"""The two stories that the sharing explorer tells, played on a real pool by the functions that are to be watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kvlab.memory import BlockPool, blocks_needed
from kvlab.view.kinds import counted


class Moment(NamedTuple):
    """The state after one event. tables and tokens: by sequence. moved: blocks taken or given back; copies: pairs."""

    words: str
    tables: dict[int, list[int]]
    tokens: dict[int, int]
    moved: frozenset[int]
    copies: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Story:
    """play: called with a `Recorder`, returns its moments."""

    title: str
    noun: str
    play: Callable[[Recorder], list[Moment]]
    num_blocks: int = 10
    block_size: int = 4


class Recorder:
    """Sequences 0, 1, 2, ... on one pool, moved by the given functions; every event is kept as a `Moment`."""

    def __init__(self, story: Story, fork: Callable, append_with_cow: Callable, beam_step: Callable) -> None:
        self.story, self.fork_table, self.append, self.step_tables = story, fork, append_with_cow, beam_step
        self.pool = BlockPool(story.num_blocks)
        self.tables: dict[int, list[int]] = {}
        self.tokens: dict[int, int] = {}
        self.moments: list[Moment] = []

    def note(self, words: str, before: set[int], copies: Iterable[tuple[int, int]] = ()) -> None:
        tables = {number: list(table) for number, table in self.tables.items()}
        moved = frozenset(before ^ self.used()) | {target for _, target in copies}
        self.moments.append(Moment(words, tables, dict(self.tokens), moved, tuple(copies)))

    def used(self) -> set[int]:
        return {block for table in self.tables.values() for block in table}

    def start(self, tokens: int) -> None:
        self.tables[0], self.tokens[0] = self.pool.take(blocks_needed(tokens, self.story.block_size)), tokens
        blocks = counted(len(self.tables[0]), "block")
        self.note(f"the prompt of {tokens} tokens runs once, as {self.story.noun} 0, and takes {blocks}", set())

    def fork(self, children: Iterable[int]) -> None:
        before, numbers = self.used(), list(children)
        for child in numbers:
            self.tables[child], self.tokens[child] = self.fork_table(self.tables[0], self.pool), self.tokens[0]
        named = " and ".join(map(str, numbers))
        self.note(f"{self.story.noun} 0 is forked into {named}: the same blocks, and no copy", before)

    def write(self, number: int) -> None:
        """One token of one sequence."""
        before, table = self.used(), self.tables[number]
        old, full = table[-1], self.tokens[number] % self.story.block_size == 0
        owners = self.pool.ref_count(old)
        _, copy = self.append(table, self.tokens[number], self.pool, self.story.block_size)
        self.tokens[number] += 1
        words = f"{self.story.noun} {number} writes token {self.tokens[number]}"
        if copy is not None:
            words += f": block {old} has {owners} owners, so it is copied to block {copy[1]}, which is written"
        elif full:
            words += f": its last block was full, it takes block {table[-1]} and copies nothing"
        else:
            words += f" into block {old}, which it alone owns"
        self.note(words, before, [copy] if copy else [])

    def write_all(self) -> None:
        """One token of every sequence, as one event."""
        before, copies = self.used(), []
        for number, table in self.tables.items():
            _, copy = self.append(table, self.tokens[number], self.pool, self.story.block_size)
            self.tokens[number] += 1
            copies += [copy] if copy else []
        made = ", ".join(f"{source} to {target}" for source, target in copies)
        words = f"every {self.story.noun} writes token {self.tokens[0]}"
        self.note(words + (f"; copied: block {made}" if made else "; nothing is copied"), before, copies)

    def free(self, number: int) -> None:
        before = self.used()
        self.pool.release(self.tables.pop(number))
        del self.tokens[number]
        gone = len(before - self.used())
        self.note(f"{self.story.noun} {number} ends; {counted(gone, 'block')} had no other owner and "
                  f"{'is' if gone == 1 else 'are'} free", before)  # fmt: skip

    def step(self, parents: list[int]) -> None:
        before = self.used()
        self.tables = dict(enumerate(self.step_tables(list(self.tables.values()), parents, self.pool)))
        gone, losers = len(before - self.used()), sorted(set(self.tokens) - set(parents))
        lost = " and ".join(map(str, losers))
        who = f"{self.story.noun}{'s' * (len(losers) != 1)} {lost} {'has' if len(losers) == 1 else 'have'} no child"
        let_go = f"; {who}: {counted(gone, 'block')} {'is' if gone == 1 else 'are'} free"
        self.note(f"the next beams continue {parents}{let_go if lost else ''}", before)


def _samples(play: Recorder) -> list[Moment]:
    play.start(10)
    play.fork([1, 2])
    for number in (0, 1, 2, 0, 1, 2, 0):
        play.write(number)
    play.free(1)
    for number in (2, 0):
        play.write(number)
    play.free(0)
    play.write(2)
    play.free(2)
    return play.moments


def _beams(play: Recorder) -> list[Moment]:
    play.start(6)
    play.fork([1, 2])
    for parents in ([0, 0, 2], [0, 1, 1], [1, 1, 1], [0, 2, 2], [2, 0, 1]):
        play.write_all()
        play.step(parents)
    play.write_all()
    return play.moments


STORIES = {
    "samples": Story("Three answers to one prompt, event by event", "sample", _samples),
    "beams": Story("A search with three beams, event by event", "beam", _beams),
}
