"""Step through the life of a block pool: who is admitted, who takes a block, who gives back, who waits (lab 03)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from kvlab.memory import BlockPool
from kvlab.view.blockmap import block_map
from kvlab.view.explorer import Explorer, Frame
from kvlab.view.player import event_panel
from kvlab.view.poolreplay import NOBODY, Event, PoolReplay, record

FREE, OTHER, LAST, MINE, MOVED = range(5)  # palette indices


class Ask(NamedTuple):
    """A request of the built-in story: lengths in tokens."""

    prompt: int
    answer: int


# Eight messages to the food-delivery assistant, short so that every event can be followed by eye.
STORY = (Ask(90, 40), Ask(35, 60), Ask(120, 9), Ask(50, 20), Ask(64, 34), Ask(130, 30), Ask(20, 12), Ask(75, 30))


def pool_explorer(
    trace: Iterable | None = None,
    num_blocks: int = 32,
    block_size: int = 16,
    pool: Callable[[int], Any] = BlockPool,
) -> Explorer:
    """A block pool, one event at a time: admit, append that takes a block, finish, wait.

    trace: requests with `prompt` and `answer`; eight short ones if None. pool: called with `num_blocks`, returns
    something with take and release, such as a learner's own pool. The one setting, also for `.at(...)`, is event,
    counted from 0; one beyond the end shows the end. `.at(...).values`: event, table, free, events (their number).
    """
    replay = record(STORY if trace is None else trace, num_blocks, block_size, pool)
    title = f"A pool of {num_blocks:,} blocks of {block_size} tokens, event by event"

    def draw(event: int) -> Frame:
        return _frame(replay, replay.go(event), block_size)

    return Explorer(title, draw, {"event": 0}, lambda explorer, widgets: _panel(replay, explorer, widgets))


def states(replay: PoolReplay, event: Event) -> np.ndarray:
    """A palette index for every block just after the event."""
    seen = np.where(replay.owner == NOBODY, FREE, OTHER)
    seen[[table[-1] for table in replay.tables.values()]] = LAST
    seen[replay.tables.get(event.request, [])] = MINE
    seen[list(event.taken + event.freed)] = MOVED
    return seen


def _layout(num_blocks: int) -> tuple[int, int]:
    """Columns, and pixels from square to square."""
    sizes = ((128, 16, 40), (256, 32, 24), (1024, 64, 12))
    return next(((columns, cell) for most, columns, cell in sizes if num_blocks <= most), (128, 6))


def _frame(replay: PoolReplay, now: Event, block_size: int) -> Frame:
    seen = states(replay, now)
    columns, cell = _layout(len(seen))
    size = (columns * cell + 5, -(-len(seen) // columns) * cell + 5)
    table = replay.tables.get(now.request, [])
    free = int((replay.owner == NOBODY).sum())
    lines = [
        f"- {_table_line(now, table, block_size)}",
        f"- blocks: {len(seen) - free:,} used, {free:,} free, {len(seen):,} in all",
        f"- requests: {now.running} running, {now.waiting} waiting",
    ]
    values = {"event": now, "table": list(table), "free": free, "events": len(replay.events)}
    png = block_map(seen, columns, cell, numbers=cell >= 24)
    return Frame(png, size, _headline(replay, now), _legend(now), lines, values)


def _headline(replay: PoolReplay, now: Event) -> str:
    return f"Event {replay.at} of {len(replay.events) - 1}, step {now.step}: request {now.request} {now.words}."


def _legend(now: Event) -> list[tuple[int, str]]:
    return [
        (MINE, f"held by request {now.request}"),
        (MOVED, "taken or given back in this event"),
        (OTHER, "held by another request, full"),
        (LAST, "held by another request, its last block"),
        (FREE, "free"),
    ]


def _table_line(now: Event, table: list[int], block_size: int) -> str:
    if not table:
        return f"block table of request {now.request}: empty"
    shown = [str(block) for block in table]
    if len(shown) > 14:
        shown[9:-4] = ["..."]
    filled = now.tokens - (len(table) - 1) * block_size
    words = f"block table of request {now.request}: [{', '.join(shown)}] for {now.tokens} tokens"
    return f"{words}; {filled} of {block_size} slots filled in the last"


def _panel(replay: PoolReplay, explorer: Explorer, widgets: Any) -> Any:
    refusals = (number for number, event in enumerate(replay.events) if not event.moved)
    return event_panel(widgets, explorer, len(replay.events), refusals, "refusal")
