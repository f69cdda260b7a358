"""How a kernel is launched: tile sizes, splits, warps and stages, as plain functions of shapes and the number of SMs.

Nothing here looks at a tensor's contents, so nothing here waits for the GPU. kernels/README.md says why each number is
what it is.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

MIN_SPLIT_TOKENS = 128  # a split shorter than this costs more to start and to merge than it saves
MAX_SPLIT_TOKENS = 2048  # so that one long sequence in a batch of short ones is still spread over the GPU
TILE_NUMBERS = 16 * 1024  # keys and values a tile: 64 tokens of two rows of 128; half of it for fp32, to fit
PROGRAMS_PER_SM = 2  # decode programs that are resident at once; three fit, two already saturate the memory
START_TOKENS = 64  # what a program costs before its first and after its last token, in tokens


class DecodeLaunch(NamedTuple):
    """How `paged_decode` runs.

    heads: query heads of one KV head that a program takes. rows: rows of its query tile, `heads` padded. head_tiles:
    programs that share a KV head. tile: tokens a turn. splits: programs along the tokens of one sequence. min_tiles:
    the fewest tiles that a split is worth. key_tile, value_tile: the dims, padded. warps, stages: as Triton counts.
    """

    heads: int
    rows: int
    head_tiles: int
    tile: int
    splits: int
    min_tiles: int
    key_tile: int
    value_tile: int
    warps: int
    stages: int


class PrefillLaunch(NamedTuple):
    """How `paged_prefill` runs. queries: tokens of one query tile; `queries * heads` of its `rows` are used."""

    queries: int
    heads: int
    rows: int
    head_tiles: int
    tile: int
    key_tile: int
    value_tile: int
    warps: int
    stages: int


class RowLaunch(NamedTuple):
    """How rows are copied (`write_kv`, `merge`, `copy_blocks`): numbers a tile, tiles a row, and warps."""

    tile: int
    tiles: int
    warps: int


def power_of_two(number: int, least: int = 1) -> int:
    """The smallest power of two that is at least `number` and at least `least`: what `tl.arange` takes."""
    return max(least, 1 << max(0, number - 1).bit_length())


def split_kv(num_tokens: int, num_splits: int, block_size: int) -> list[tuple[int, int]]:
    """Cut `num_tokens` tokens into at most `num_splits` parts `(start, end)`, in order, none empty, all tokens covered.

    Every part begins at a multiple of `block_size`, and no two differ by more than one block (the last block may be
    ragged). Fewer parts come back when there are fewer blocks, none at all for 0 tokens. ValueError: a negative number
    of tokens, no split, or a block without a slot.
    """
    if num_tokens < 0 or num_splits < 1 or block_size < 1:
        asked = f"{num_tokens} tokens, {num_splits} splits, blocks of {block_size}"
        raise ValueError(f"splitting needs at least 0 tokens, 1 split and blocks of 1 slot, not {asked}")
    blocks = -(-num_tokens // block_size)
    splits = min(num_splits, blocks)
    edges = [index * blocks // splits * block_size for index in range(splits)] + [num_tokens]
    return list(zip(edges, edges[1:], strict=False))


def num_splits(programs: int, max_tokens: int, sm_count: int) -> int:
    """Parts to cut each sequence into, when `programs` programs run without a cut and no sequence has more tokens.

    Programs run in waves of `PROGRAMS_PER_SM * sm_count`; the last wave may be nearly empty. The count with the least
    estimated time wins, waves x (tokens a part + `START_TOKENS`), and the smaller one if two are equal.
    """
    resident = PROGRAMS_PER_SM * sm_count
    least, most = max(1, -(-max_tokens // MAX_SPLIT_TOKENS)), max(1, max_tokens // MIN_SPLIT_TOKENS)
    filling = (waves * resident // max(1, programs) for waves in range(1, 9))
    candidates = {least, *(min(most, max(least, count)) for count in filling)}

    def time(splits: int) -> int:
        waves = -(-programs * splits // resident)
        return waves * (-(-max_tokens // splits) + START_TOKENS)

    return min(sorted(candidates), key=time)


@functools.lru_cache(maxsize=4096)
def decode_launch(
    num_seqs: int,
    kv_heads: int,
    group: int,
    key_dim: int,
    value_dim: int,
    element_bytes: int,
    max_tokens: int,
    sm_count: int,
    splits: int | None = None,
) -> DecodeLaunch:
    """The launch for `num_seqs` queries of `group` heads a KV head, over sequences of at most `max_tokens` tokens.

    element_bytes: of one number that is computed with. splits: taken as it is if given.
    """
    heads = min(group, 64)
    head_tiles = -(-group // heads)
    key_tile, value_tile = power_of_two(key_dim, 16), power_of_two(value_dim, 16)
    tile = _tile(key_tile, value_tile, element_bytes)
    if splits is None:
        splits = num_splits(num_seqs * kv_heads * head_tiles, max_tokens, sm_count)
    return DecodeLaunch(
        heads=heads,
        rows=power_of_two(heads, 16),
        head_tiles=head_tiles,
        tile=tile,
        splits=splits,
        min_tiles=-(-MIN_SPLIT_TOKENS // tile),
        key_tile=key_tile,
        value_tile=value_tile,
        warps=4,
        stages=3,
    )


@functools.lru_cache(maxsize=4096)
def prefill_launch(
    num_tokens: int, num_seqs: int, group: int, key_dim: int, value_dim: int, element_bytes: int, capability: int
) -> PrefillLaunch:
    """The launch for `num_tokens` query tokens of `num_seqs` sequences.

    element_bytes: of one number that is computed with. capability: of the GPU, 90 for 9.0. Hopper and the Blackwell of
    servers multiply from shared memory; elsewhere tiles lie in registers, which a tile half as long leaves enough of.
    """
    key_tile, value_tile = power_of_two(key_dim, 16), power_of_two(value_dim, 16)
    wide = max(key_tile, value_tile) > 128 or element_bytes > 2
    rows = 32 if element_bytes > 2 else 64 if wide or num_tokens * group < 128 * num_seqs else 128
    heads = min(group, rows, 64)
    tile = min(64 if capability // 10 in (9, 10) else 32, _tile(key_tile, value_tile, element_bytes))
    return PrefillLaunch(
        queries=rows // heads,
        heads=heads,
        rows=rows,
        head_tiles=-(-group // heads),
        tile=tile,
        key_tile=key_tile,
        value_tile=value_tile,
        warps=8 if rows == 128 or wide else 4,
        stages=2 if wide else 3,
    )


def row_launch(width: int, element_bytes: int) -> RowLaunch:
    """The launch for rows of `width` numbers: 16 bytes a thread, at most 8 warps and 32 KB a tile."""
    tile = min(power_of_two(width, 16), 32 * 1024 // element_bytes)
    warps = min(8, max(1, tile * element_bytes // (32 * 16)))
    return RowLaunch(tile, -(-width // tile), power_of_two(warps))


def _tile(key_tile: int, value_tile: int, element_bytes: int) -> int:
    """Tokens a turn, 16 to 128: a power of two whose keys and values are about `TILE_NUMBERS`, twice that in float8."""
    numbers = key_tile + value_tile
    budget = 2 * TILE_NUMBERS if element_bytes == 1 and numbers <= 256 else TILE_NUMBERS
    tokens = budget * 2 // (numbers * max(2, element_bytes))
    return min(128, max(16, power_of_two(tokens + 1) // 2))
