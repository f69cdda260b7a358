"""Step through a small pool whose blocks several sequences share: forks, copies on write, frees (lab 06)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kvlab import memory
from kvlab.errors import UsageError
from kvlab.view.explorer import Explorer, Frame
from kvlab.view.kinds import counted, percent
from kvlab.view.ownermap import owner_map, size
from kvlab.view.player import event_panel
from kvlab.view.sharestory import STORIES, Moment, Recorder, Story

FREE, ALONE, SHARED, MOVED, SOURCE = range(5)  # palette indices
LEGEND = (
    (SHARED, "has several owners"),
    (ALONE, "has one owner"),
    (MOVED, "taken or given back in this event"),
    (SOURCE, "copied from, in this event"),
    (FREE, "free, or not in this table"),
)


def share_explorer(
    story: str = "samples",
    fork: Callable[..., Any] = memory.fork,
    append_with_cow: Callable[..., Any] = memory.append_with_cow,
    beam_step: Callable[..., Any] = memory.beam_step,
) -> Explorer:
    """Sequences that share a prompt, event by event: who owns which block, what is copied, what is freed.

    story: "samples" (three answers to one prompt) or "beams" (a search with three beams). The functions are those of
    `kvlab.memory`, or a learner's own. The one setting, also for `.at(...)`, is event, counted from 0; one beyond the
    end shows the end. `.at(...).values`: moment, saved (the share of blocks), events (their number).
    """
    if story not in STORIES:
        raise UsageError(f"there is no story {story!r}; there are {', '.join(STORIES)}")
    told = STORIES[story]
    moments = told.play(Recorder(told, fork, append_with_cow, beam_step))

    def draw(event: int) -> Frame:
        at = min(max(event, 0), len(moments) - 1)
        return _frame(moments, at, told)

    return Explorer(told.title, draw, {"event": 0}, lambda explorer, widgets: _panel(moments, explorer, widgets))


def _frame(moments: list[Moment], at: int, told: Story) -> Frame:
    now, noun = moments[at], told.noun
    sequences = 1 + max(number for moment in moments for number in moment.tables)
    counts = Counter(block for table in now.tables.values() for block in table)
    kinds = [FREE if not counts[block] else ALONE if counts[block] == 1 else SHARED for block in range(told.num_blocks)]
    kinds = [MOVED if block in now.moved else kind for block, kind in enumerate(kinds)]
    rows = {number: _row(now, number, kinds, told.block_size) for number in range(sequences)}
    sources = {source for source, _ in now.copies}
    pool = [SOURCE if block in sources else kind for block, kind in enumerate(kinds)]
    saved = memory.saved_blocks(now.tables.values())
    tables = now.tables.items()
    lines = [f"- {noun} {number}: table {table} for {now.tokens[number]} tokens" for number, table in tables]
    where = f"below: a row for each {noun}, with the tokens that it has in each block"
    lines += [_blocks_line(counts, saved), f"- top row: the pool, by block number; {where}"]
    values = {"moment": now, "saved": saved, "events": len(moments)}
    headline = f"Event {at} of {len(moments) - 1}: {now.words}."
    return Frame(owner_map(pool, rows), size(told.num_blocks, sequences), headline, LEGEND, lines, values)


def _row(now: Moment, number: int, kinds: list[int], block_size: int) -> tuple[list[int], dict[int, int]]:
    """A sequence's squares, and the tokens in those that its table names; an empty row where it has ended."""
    table = now.tables.get(number, [])
    states = [kind if block in table else FREE for block, kind in enumerate(kinds)]
    return states, {block: min(block_size, now.tokens[number] - i * block_size) for i, block in enumerate(table)}


def _blocks_line(counts: Counter[int], saved: float) -> str:
    used = counted(len(counts), "block")
    return f"- {used} in use, {counts.total()} without sharing: {percent(saved)} saved"


def _panel(moments: list[Moment], explorer: Explorer, widgets: Any) -> Any:
    copies = (number for number, moment in enumerate(moments) if moment.copies)
    return event_panel(widgets, explorer, len(moments), copies, "copy")
