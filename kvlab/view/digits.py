"""Block numbers inside a block map, in a font of three by five pixels."""

from __future__ import annotations

import numpy as np

_FONT = {  # five rows of three bits, top row first, as octal digits
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711",
    "5": "74717", "6": "74757", "7": "71122", "8": "75757", "9": "75717",
}  # fmt: skip
INK_ON = {0: 4, 1: 5, 2: 4, 3: 5, 4: 5}  # black ink on light squares, white (index 5) on dark ones


def _glyphs(number: int, scale: int) -> np.ndarray:
    """The number as an array of booleans, digits one blank column apart."""
    digits = [[[int(row) >> bit & 1 for bit in (2, 1, 0)] + [0] for row in _FONT[digit]] for digit in str(number)]
    return np.concatenate(np.array(digits, bool), axis=1)[:, :-1].repeat(scale, 0).repeat(scale, 1)


def write_numbers(pixels: np.ndarray, blocks: np.ndarray, columns: int, cell: int) -> None:
    """Writes 0, 1, 2, ... into the squares of `pixels` in place; nothing where the widest number would not fit."""
    digits = len(str(max(len(blocks) - 1, 0)))
    if min((cell - 5) // (4 * digits - 1), (cell - 5) // 5) < 1:
        return
    for number, state in enumerate(blocks.tolist()):
        square = pixels[number // columns * cell :, number % columns * cell :][: cell - 1, : cell - 1]
        write_number(square, number, INK_ON[state], digits)


def write_number(square: np.ndarray, number: int, ink: int = 4, digits: int | None = None) -> None:
    """Writes a number into the middle of a square of pixels, in place. ink: a palette index. digits: make it no larger
    than a number of so many."""
    height, width = square.shape
    widest = 4 * (digits or len(str(number))) - 1
    glyphs = _glyphs(number, max(1, min(2, (width - 4) // widest, (height - 4) // 5)))
    top, left = (height - glyphs.shape[0]) // 2, (width - glyphs.shape[1]) // 2
    square[top : top + glyphs.shape[0], left : left + glyphs.shape[1]][glyphs] = ink
