"""Who owns which block, as a picture: the pool in the top row, and below it a row for each sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kvlab.errors import UsageError
from kvlab.view.blockmap import WHITE, palette_png, squares
from kvlab.view.digits import INK_ON, write_number

CELL, GAP = 40, 12  # pixels of a square with its gutter, and between the pool and the sequences


def owner_map(pool: Sequence[int], rows: Mapping[int, tuple[Sequence[int], Mapping[int, int]]]) -> bytes:
    """PNG of the pool's blocks and of the sequences that name them.

    pool: a palette index for each block. rows: for each sequence, by the number that is written before its row, a
    palette index for each block, and the numbers that are written into some of its squares. A row that is not as long
    as the pool raises `UsageError`.
    """
    wrong = [number for number, (states, _) in rows.items() if len(states) != len(pool)]
    if wrong:
        raise UsageError(f"the row of sequence {wrong[0]} needs {len(pool)} squares, one for each block")
    lines = [_line(pool, dict(enumerate(range(len(pool)))))]
    lines.append(np.full((GAP, lines[0].shape[1]), WHITE, np.uint8))
    lines += [_line(states, numbers, label) for label, (states, numbers) in rows.items()]
    return palette_png(np.pad(np.concatenate(lines), ((3, 2), (3, 2)), constant_values=WHITE))


def size(blocks: int, rows: int) -> tuple[int, int]:
    """Width and height in pixels."""
    return (blocks + 1) * CELL + 5, (rows + 1) * CELL + GAP + 5


def _line(states: Sequence[int], numbers: Mapping[int, int], label: int | None = None) -> np.ndarray:
    line = squares(np.asarray([WHITE, *states], np.uint8), 1 + len(states), CELL)
    if label is not None:
        write_number(line[: CELL - 1, : CELL - 1], label)
    for block, number in numbers.items():
        square = line[: CELL - 1, (block + 1) * CELL :][:, : CELL - 1]
        write_number(square, number, INK_ON[int(states[block])], digits=2)
    return line
