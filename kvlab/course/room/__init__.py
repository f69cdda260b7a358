"""A class at a glance, from its progress files: `kvlab room` in a terminal, `room("class")` in a notebook.

It reads and never writes. A file that is half-written, damaged or gone leaves a person as they were last seen.
"""

from kvlab.course.room.board import Board, Cell, board
from kvlab.course.room.folders import Person, Room
from kvlab.course.room.live import room

__all__ = ["Board", "Cell", "Person", "Room", "board", "room"]
