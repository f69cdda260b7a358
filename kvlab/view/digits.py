"""Block numbers inside a block map, in a font of three by five pixels."""

from __future__ import annotations

import numpy as np

_FONT = {  # five rows of three bits, top row first, as octal digits
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711",
    "5": "74717", "6": "74757", "7": "71122", "8": "75757", "9": "75717",
}  # fmt: skip
_INK_ON = {0: 4, 1: 5, 2: 4, 3: 5, 4: 5}  # black ink on light squares, white (index 5) on dark ones


def _glyphs(number: int, scale: int) -> np.ndarray:
    """The number as an array of booleans, digits one blank column apart."""
    digits = [[[int(row) >> bit & 1 for bit in (2, 1, 0)] + [0] for row in _FONT[digit]] for digit in str(number)]
    return np.concatenate(np.array(digits, bool), axis=1)[:, :-1].repeat(scale, 0).repeat(scale, 1)


def write_numbers(pixels: np.ndarray, blocks: np.ndarray, columns: int, cell: int) -> None:
    """Writes 0, 1, 2, ... into the squares of `pixels` in place; nothing where the widest number would not fit."""
    digits = len(str(max(len(blocks) - 1, 0)))
    scale = min(2, (cell - 5) // (4 * digits - 1), (cell - 5) // 5)
    for number in range(len(blocks) if scale >= 1 else 0):
        ink = _glyphs(number, scale)
        top = number // columns * cell + (cell - 1 - ink.shape[0]) // 2
        left = number % columns * cell + (cell - 1 - ink.shape[1]) // 2
        square = pixels[top : top + ink.shape[0], left : left + ink.shape[1]]
        square[ink] = _INK_ON[int(blocks[number])]
