"""A memory map as a palette PNG, written with zlib alone: a frame of 4,096 blocks costs a few milliseconds."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np

from kvlab.errors import UsageError
from kvlab.view.kinds import PALETTE

WHITE = len(PALETTE)  # index of the gutters and of the margin, so that a map keeps its background in a dark theme


def block_map(states: Sequence[int] | np.ndarray, columns: int, cell: int = 8, numbers: bool = False) -> bytes:
    """One square a block, row by row, as the bytes of a PNG.

    states: index into `PALETTE` for each block, 0-4. columns: squares in a row, at least 1. cell: pixels from one
    square to the next, at least 3, of which the last is a white gutter. numbers: write the block's number into its
    square where `cell` leaves room for it. Anything else raises `UsageError`.
    """
    blocks = _checked(states, columns, cell)
    pixels = squares(blocks, columns, cell)
    if numbers:
        from kvlab.view.digits import write_numbers

        write_numbers(pixels, blocks, columns, cell)
    return palette_png(np.pad(pixels, ((3, 2), (3, 2)), constant_values=WHITE))


def palette_png(pixels: np.ndarray) -> bytes:
    """PNG of a two-dimensional array of indices into `PALETTE` (and `WHITE`), four bits a pixel."""
    height, width = pixels.shape
    even = np.pad(pixels, ((0, 0), (0, width % 2)), constant_values=WHITE).astype(np.uint8)
    lines = np.zeros((height, 1 + even.shape[1] // 2), np.uint8)  # the leading 0 of a line: "no filter"
    lines[:, 1:] = even[:, 0::2] << 4 | even[:, 1::2]
    header = struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)
    colours = bytes.fromhex("".join(colour[1:] for colour in PALETTE) + "ffffff")
    body = zlib.compress(lines.tobytes(), 6)
    parts = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", body), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def squares(blocks: np.ndarray, columns: int, cell: int) -> np.ndarray:
    """One square of `cell` pixels a block, its last row and column of pixels white; `WHITE` squares fill the grid."""
    rows = max(1, -(-len(blocks) // columns))
    grid = np.full(rows * columns, WHITE, np.uint8)
    grid[: len(blocks)] = blocks
    pixels = grid.reshape(rows, columns).repeat(cell, 0).repeat(cell, 1)
    pixels[cell - 1 :: cell] = WHITE
    pixels[:, cell - 1 :: cell] = WHITE
    return pixels


def _checked(states: Sequence[int] | np.ndarray, columns: int, cell: int) -> np.ndarray:
    blocks = np.asarray(states, dtype=np.int64).ravel()
    if columns < 1 or cell < 3:
        raise UsageError(f"a map needs columns >= 1 and cell >= 3, there were {columns} and {cell}")
    if len(blocks) and not (0 <= blocks.min() and blocks.max() < len(PALETTE)):
        raise UsageError(f"states are 0 to {len(PALETTE) - 1}, there were {blocks.min()} to {blocks.max()}")
    return blocks.astype(np.uint8)
