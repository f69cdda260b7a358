"""A view of an engine while it runs: who runs and who waits, where the blocks are, how fast tokens come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kvlab.mode import widgets
from kvlab.view.blockmap import block_map
from kvlab.view.card import card_png
from kvlab.view.enginemap import CELLS, HOST, LEGEND, block_owners, block_states
from kvlab.view.explorer import Frame, Screen
from kvlab.view.kinds import counted

if TYPE_CHECKING:
    from kvlab.serve.engine import Engine
    from kvlab.serve.metrics import Stats
    from kvlab.serve.request import Generation

COLUMNS = 64
"""Squares of a row at most."""
PATIENCE = 50
"""A refresh waits for so many times as long as the last one took, so that it costs less than 2 % of the time."""


class Watch:
    """Shows `engine` in a notebook and follows it. See `watch`."""

    def __init__(self, engine: Engine, every: float, clock: Callable[[], float]) -> None:
        self.engine, self.every, self.refreshes = engine, every, 0
        self._clock, self._shown = clock, False
        self._screen: Screen | None = None
        now = clock()
        self._due, self._since, self._rate = now + every, now, 0.0
        self._tokens = engine.generated_tokens

    def __iter__(self) -> Iterator[list[Generation]]:
        """Step until nothing waits or runs; each turn gives the generations that got a token.

        In a notebook it shows itself first, unless it has been shown, and has the last word when the loop ends.
        """
        handle = self._show()
        try:
            while self.engine.has_work:
                got = self.engine.step()
                self()
                yield got
        finally:
            self.refresh()
            if handle is not None:
                handle.update(self)

    def __call__(self) -> None:
        """Refresh if it is time to: to be called after each step, by whoever steps."""
        if self._clock() >= self._due:
            self.refresh()

    def run(self) -> None:
        """What `engine.run()` does, watched."""
        for _ in self:
            pass

    def refresh(self) -> None:
        """Show what is so now, whatever the time."""
        began = self._clock()
        tokens, seconds = self.engine.generated_tokens - self._tokens, began - self._since
        if tokens and seconds > 0:
            self._rate, self._since, self._tokens = tokens / seconds, began, self.engine.generated_tokens
        if self._screen is not None:
            self._screen.show(self.frame())
        self.refreshes += 1
        ended = self._clock()
        self._due = ended + max(self.every, PATIENCE * (ended - began))

    def frame(self) -> Frame:
        """The picture, its legend and the numbers as they are now."""
        stats, owners = self.engine.stats(), block_owners(self.engine)
        states = block_states(self.engine, owners)
        columns, cell = min(COLUMNS, len(states)), 12
        size = (columns * cell + 5, -(-len(states) // columns) * cell + 5)
        seen = [(kind, words) for kind, words in LEGEND.items() if kind != HOST or stats.host_blocks]
        headline = f"Step {stats.steps:,}: {_who(stats)}; {counted(round(self._rate), 'token')} a second."
        shared = int(np.count_nonzero(owners > 1))
        lines = list(_lines(stats, shared, -(-(stats.blocks + stats.host_blocks) // CELLS)))
        values = {"stats": stats, "states": states.tolist(), "shared": shared, "tokens_per_second": self._rate}
        return Frame(block_map(states, columns, cell), size, headline, seen, lines, values)

    def widget(self) -> Any | None:
        """What refreshes, as an ipywidgets box, the same one each time; None where there is no ipywidgets 8."""
        found = widgets()
        if found and self._screen is None:
            self._screen = Screen(found, self.frame(), spoken=False)
        return self._screen.box if found and self._screen else None

    @property
    def story(self) -> str:
        """All that the picture says, in words."""
        return f"{self.title}\n\n{self.frame().text}"

    @property
    def title(self) -> str:
        """Whose blocks these are."""
        return f"An engine with {counted(self.engine.num_blocks, 'block')} of {self.engine.block_size} slots"

    def _show(self) -> Any | None:
        """Display it where there is a notebook, and return the handle; None where there is none or it was shown."""
        if self._shown or not _in_notebook():
            return None
        from IPython.display import display

        return display(self, display_id=True)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        self._shown = True
        frame, widget = self.frame(), self.widget()
        png, (width, height) = card_png(self.title, frame)
        live = widget._repr_mimebundle_() if widget is not None else {}
        shown = {"width": width, "height": height, "alt": f"{self.title}. {frame.headline}"}
        return {**live, "image/png": png, "text/plain": f"{self.title}\n\n{frame.text}"}, {"image/png": shown}

    def __repr__(self) -> str:
        return self.story


def watch(engine: Engine, every: float = 0.5, clock: Callable[[], float] = perf_counter) -> Watch:
    """A live view of `engine`: requests that run, wait and are swapped out, every block, tokens a second.

    `for _ in watch(engine): ...` steps the engine until it has no work, or `watch(engine).run()`. Who steps otherwise
    calls the view after each step. It shows anew after `every` seconds at the earliest, and only as often as costs less
    than 2 % of the time, so that it may stay in. Tokens a second are those since the last refresh that saw any.
    clock: seconds, for tests.
    """
    return Watch(engine, every, clock)


def _in_notebook() -> bool:
    """Whether what is displayed goes to a notebook."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


def _who(stats: Stats) -> str:
    swapped = f", {stats.swapped} swapped out" if stats.host_blocks else ""
    return f"{counted(stats.running, 'request')} running, {stats.waiting} waiting{swapped}"


def _lines(stats: Stats, shared: int, each: int) -> Iterator[str]:
    used = stats.blocks - stats.blocks_free
    yield f"- {used:,} of {counted(stats.blocks, 'block')} have an owner, {shared:,} of these several"
    cached = f", of which {stats.blocks_cached:,} can still be found" if stats.prefix_queries else ""
    yield f"- {counted(stats.blocks_free, 'block')} free{cached}"
    if stats.host_blocks:
        held = stats.host_blocks - stats.host_blocks_free
        yield f"- {held:,} of {counted(stats.host_blocks, 'block')} on the host taken; they come last in the picture"
    ended = counted(stats.finished, "request")
    yield f"- {counted(stats.generated_tokens, 'token')} so far; {ended} ended"
    swaps = f", {stats.swaps} of these by swapping" if stats.host_blocks else ""
    yield f"- {counted(stats.preemptions, 'preemption')}{swaps}; {stats.recomputed_tokens:,} tokens to compute again"
    if each > 1:
        yield f"- a square stands for {each} blocks"
