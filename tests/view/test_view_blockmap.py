from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.image import imread

from kvlab.errors import UsageError
from kvlab.view import PALETTE, block_map


def pixels(png: bytes) -> np.ndarray:
    """Red, green, blue of each pixel, 0-255, read back by matplotlib."""
    return np.rint(imread(io.BytesIO(png), format="png")[:, :, :3] * 255).astype(int)


def rgb(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def test_every_state_has_its_palette_colour_in_the_middle_of_its_square():
    image = pixels(block_map([0, 1, 2, 3, 4], columns=3, cell=10))
    for block, colour in enumerate(PALETTE):
        row, column = divmod(block, 3)
        assert image[3 + row * 10 + 4, 3 + column * 10 + 4].tolist() == rgb(colour)


def test_squares_have_a_white_gutter_and_the_map_a_white_margin():
    image = pixels(block_map([1] * 12, columns=4, cell=8))
    assert (image[[0, -1]] == 255).all() and (image[:, [0, -1]] == 255).all()
    assert (image[3 + 7] == 255).all() and (image[:, 3 + 7] == 255).all()


@pytest.mark.parametrize("blocks", [0, 1, 5, 7, 4096])
def test_any_number_of_blocks_makes_a_picture_of_whole_rows(blocks):
    image = pixels(block_map([1] * blocks, columns=5, cell=3))
    assert image.shape == (max(1, -(-blocks // 5)) * 3 + 5, 5 * 3 + 5, 3)


def test_a_number_is_written_into_its_square_and_only_where_there_is_room():
    changed = pixels(block_map([1] * 20, 10, cell=24)) != pixels(block_map([1] * 20, 10, cell=24, numbers=True))
    for block in range(20):
        top, left = 3 + block // 10 * 24, 3 + block % 10 * 24
        assert changed[top : top + 23, left : left + 23].any()
    assert block_map([1] * 20, 10, cell=6, numbers=True) == block_map([1] * 20, 10, cell=6)


@pytest.mark.parametrize(("states", "columns", "cell"), [([5], 1, 8), ([-1], 1, 8), ([0], 0, 8), ([0], 1, 2)])
def test_a_map_that_cannot_be_drawn_is_refused(states, columns, cell):
    with pytest.raises(UsageError):
        block_map(states, columns, cell)


def test_the_same_states_give_the_same_bytes():
    assert block_map([0, 1, 2] * 9, 5) == block_map(np.array([0, 1, 2] * 9), 5)
