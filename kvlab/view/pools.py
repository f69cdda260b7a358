"""Step through the life of a block pool: who is admitted, who takes a block, who gives back, who waits (lab 03)."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from kvlab.view.blockmap import block_map
from kvlab.view.explorer import Explorer, Frame, Screen
from kvlab.view.player import player
from kvlab.view.poolreplay import FREE, Event, PoolReplay, record

FREE_BLOCK, OTHER, LAST, MINE, MOVED = 0, 1, 2, 3, 4  # palette indices


class Ask(NamedTuple):
    """A request of the built-in story: lengths in tokens."""

    prompt: int
    answer: int


# Eight messages to the food-delivery assistant, short so that every event can be followed by eye.
STORY = (Ask(90, 40), Ask(35, 60), Ask(120, 9), Ask(50, 20), Ask(64, 34), Ask(110, 50), Ask(20, 12), Ask(75, 30))


def pool_explorer(
    trace: Iterable | None = None,
    num_blocks: int = 32,
    block_size: int = 16,
    pool: Callable[[int], Any] | None = None,
) -> Explorer:
    """A block pool, one event at a time: admit, append that takes a block, finish, wait.

    trace: requests with `prompt` and `answer`, eight short ones if None. pool: called with `num_blocks`, returns
    something with take, release and num_free: `kvlab.memory.BlockPool` if None, or a learner's own. The one setting,
    also for `.at(...)`, is event, from 0. `.at(...).values`: event, table, free, events (how many there are).
    """
    if pool is None:
        from kvlab.memory import BlockPool as pool
    replay = record(STORY if trace is None else trace, num_blocks, block_size, pool)
    title = f"A pool of {num_blocks:,} blocks of {block_size} tokens, event by event"
    return Explorer(title, lambda event: _frame(replay, event, block_size), {"event": 0}, lambda *a: _panel(replay, *a))


def _layout(num_blocks: int) -> tuple[int, int, bool]:
    """Columns, pixels a square, and whether there is room for block numbers."""
    for most, columns, cell in ((128, 16, 40), (256, 32, 24), (1024, 64, 12)):
        if num_blocks <= most:
            return columns, cell, cell >= 24
    return 128, 6, False


def states(replay: PoolReplay, event: Event) -> np.ndarray:
    """A palette index for every block after the event."""
    seen = np.where(replay.owner == FREE, FREE_BLOCK, OTHER)
    seen[[table[-1] for table in replay.tables.values()]] = LAST
    seen[replay.tables.get(event.request, [])] = MINE
    seen[list(event.taken + event.freed)] = MOVED
    return seen


def _frame(replay: PoolReplay, event: int, block_size: int) -> Frame:
    now = replay.go(min(max(event, 0), len(replay.events) - 1))
    seen = states(replay, now)
    columns, cell, numbers = _layout(len(seen))
    size = (columns * cell + 5, -(-len(seen) // columns) * cell + 5)
    table = replay.tables.get(now.request, [])
    free = int((replay.owner == FREE).sum())
    lines = _lines(replay, now, table, free, block_size)
    values = {"event": now, "table": list(table), "free": free, "events": len(replay.events)}
    body = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
    png = block_map(seen, columns, cell, numbers)
    return Frame(png, size, _headline(replay, now), _legend(now), "\n".join(f"- {line}" for line in lines), body, values)


def _headline(replay: PoolReplay, now: Event) -> str:
    return f"Event {replay.at} of {len(replay.events) - 1}, step {now.step}: request {now.request} {now.words}."


def _legend(now: Event) -> list[tuple[int, str]]:
    return [
        (FREE_BLOCK, "free"),
        (OTHER, "held by another request"),
        (LAST, "its last block, not full yet or just full"),
        (MINE, f"held by request {now.request}"),
        (MOVED, "taken or given back in this event"),
    ]


def _lines(replay: PoolReplay, now: Event, table: list[int], free: int, block_size: int) -> list[str]:
    total = len(replay.owner)
    return [
        _table_line(now, table, block_size),
        f"blocks: {total - free:,} used, {free:,} free, {total:,} in all",
        f"requests: {now.running} running, {now.waiting} waiting",
    ]


def _table_line(now: Event, table: list[int], block_size: int) -> str:
    if not table:
        return f"block table of request {now.request}: empty"
    shown = [str(block) for block in table]
    if len(shown) > 14:
        shown[9:-4] = ["..."]
    filled = now.tokens - (len(table) - 1) * block_size
    return f"block table of request {now.request}: [{', '.join(shown)}], {now.tokens} tokens, {filled} of {block_size} slots filled in the last block"


def _panel(replay: PoolReplay, explorer: Explorer, widgets: Any) -> Any:
    screen = Screen(widgets, explorer.frame())
    waits = [number for number, event in enumerate(replay.events) if event.kind in ("wait", "never", "put back")]
    last, start = len(replay.events) - 1, explorer.settings["event"]
    controls = player(widgets, last, start, lambda event: screen.show(explorer.frame(event=event)), waits, "refusal")
    return widgets.VBox([controls, screen.box])
