"""Step through a small pool in which strangers share the beginnings of their prompts: hits, idle blocks, evictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvlab import memory
from kvlab.view.blockmap import block_map
from kvlab.view.explorer import Explorer, Frame
from kvlab.view.kinds import counted
from kvlab.view.player import event_panel
from kvlab.view.prefixstory import NUM_BLOCKS, Moment, play

BLANK, ALONE, SHARED, IDLE, COMPUTED = range(5)  # palette indices
CELL = 40  # pixels
LEGEND = (
    (COMPUTED, "computed in this event"),
    (ALONE, "has one owner"),
    (SHARED, "has several owners"),
    (IDLE, "has no owner, and can still be found"),
    (BLANK, "free"),
)


def prefix_explorer(
    block_hashes: Callable[..., Any] = memory.block_hashes,
    longest_hit: Callable[..., Any] = memory.longest_hit,
    evict: Callable[..., Any] = memory.evict,
) -> Explorer:
    """Customers whose prompts begin alike, event by event: what is found, what is computed, what is evicted.

    The functions are those of `kvlab.memory`, or a learner's own. The one setting, also for `.at(...)`, is event,
    counted from 0; one beyond the end shows the end. `.at(...).values`: moment, states (a palette index for each
    block), events (their number).
    """
    moments = play(block_hashes, longest_hit, evict)

    def draw(event: int) -> Frame:
        return _frame(moments, min(max(event, 0), len(moments) - 1))

    title = f"Prompts that begin alike, in {NUM_BLOCKS} blocks, event by event"
    return Explorer(title, draw, {"event": 0}, lambda explorer, widgets: _panel(moments, explorer, widgets))


def states(now: Moment) -> list[int]:
    """A palette index for every block just after the event."""
    owners = [sum(block in table for table in now.tables.values()) for block in range(NUM_BLOCKS)]
    kinds = [IDLE if block in now.known else BLANK for block in range(NUM_BLOCKS)]
    kinds = [min(SHARED, count) if count else kind for count, kind in zip(owners, kinds, strict=True)]
    return [COMPUTED if block in now.computed else kind for block, kind in enumerate(kinds)]


def _frame(moments: list[Moment], at: int) -> Frame:
    now, seen = moments[at], states(moments[at])
    lines = [f"- {line}" for line in _known(now)]
    lines += [f"- {name}'s table: {table}" for name, table in now.tables.items()]
    free = seen.count(BLANK) + seen.count(IDLE)
    lines.append(f"- {counted(free, 'block')} without an owner, {seen.count(IDLE)} of these can be found")
    values = {"moment": now, "states": seen, "events": len(moments)}
    size = (NUM_BLOCKS * CELL + 5, CELL + 5)
    headline = f"Event {at} of {len(moments) - 1}: {now.words}."
    return Frame(block_map(seen, NUM_BLOCKS, CELL, numbers=True), size, headline, LEGEND, lines, values)


def _known(now: Moment) -> list[str]:
    """A line for each text of which something can be found."""
    texts: dict[str, list[int]] = {}
    for block, text in now.known.items():
        texts.setdefault(text, []).append(block)
    return [f"{text}: block{'s' * (len(blocks) > 1)} {', '.join(map(str, blocks))}" for text, blocks in texts.items()]


def _panel(moments: list[Moment], explorer: Explorer, widgets: Any) -> Any:
    evictions = (number for number, moment in enumerate(moments) if moment.gone)
    return event_panel(widgets, explorer, len(moments), evictions, "eviction")
