"""`room("class")` in a notebook: the board, which looks again every few seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kvlab.course.room import shown
from kvlab.course.room.board import Board, board
from kvlab.course.room.folders import Room


class RoomView:
    """Shows itself as a table that follows the class in a live notebook, and as text elsewhere. `stop` ends that."""

    def __init__(self, room: Room, every: float, clock: Callable[[], float]) -> None:
        self.room, self.every, self._clock = room, every, clock
        self._task: Any = None
        self._box: Any = None

    @property
    def board(self) -> Board:
        """The class as it is now."""
        return board(self.room.look(), self._clock())

    def refresh(self) -> None:
        """Looks again now."""
        if self._box is not None:
            self._box.value = shown.as_html(self.board)

    def stop(self) -> None:
        """Follows no longer."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self.every)
            self.refresh()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        now = self.board
        bundle = {"text/plain": shown.text(now), "text/html": shown.as_html(now)}
        try:
            import ipywidgets

            loop = asyncio.get_running_loop()
        except (ImportError, RuntimeError):  # no widgets, or nothing that runs between two cells
            return bundle
        self._box = ipywidgets.HTML(bundle["text/html"])
        if self._task is None:
            self._task = loop.create_task(self._follow())
        return (self._box._repr_mimebundle_() or {}) | bundle

    def __repr__(self) -> str:
        return shown.text(self.board)


def room(*folders: Path | str, every: float = 5.0, clock: Callable[[], float] = time.time) -> RoomView:
    """The class whose folders lie in `folders`, each with its `kvlab-progress.json`, or one folder above it. Looks
    again every `every` seconds. It only reads."""
    return RoomView(Room(folders), every, clock)
