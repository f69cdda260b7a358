"""Small kernels with one fault each, as learners write them."""

import pytest
import triton
import triton.language as tl


@triton.jit
def copy(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = tl.load(source + i, mask=i < n, other=0.0)
    tl.store(target + i, x, mask=i < n)


@triton.jit
def load_unmasked(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = tl.load(source + i)
    tl.store(target + i, x, mask=i < n)


@triton.jit
def store_unmasked(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = tl.load(source + i, mask=i < n, other=0.0)
    tl.store(target + i, x)


@triton.jit
def starts_early(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE) - 3
    x = tl.load(source + i, mask=i < n, other=0.0)
    tl.store(target + i, x, mask=i < n)


@triton.jit
def always_the_first_tile(source, target, n, TILE: tl.constexpr):
    i = tl.arange(0, TILE)
    x = tl.load(source + i, mask=i < n, other=0.0)
    tl.store(target + i, x, mask=i < n)


@triton.jit
def gather(pool, table, target, width, TILE: tl.constexpr):
    """target[p] = pool[table[p]], rows of `width` numbers."""
    block = tl.load(table + tl.program_id(0))
    i = tl.arange(0, TILE)
    row = tl.load(pool + block * width + i, mask=i < width)
    tl.store(target + tl.program_id(0) * width + i, row, mask=i < width)


@triton.jit
def gather_wide(pool, table, target, width, TILE: tl.constexpr):
    block = tl.load(table + tl.program_id(0)).to(tl.int64)
    i = tl.arange(0, TILE)
    row = tl.load(pool + block * width + i, mask=i < width)
    tl.store(target + tl.program_id(0) * width + i, row, mask=i < width)


@triton.jit
def row_sums(source, lengths, target, width, TILE: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, TILE)
    x = tl.load(source + row * width + i, mask=i < width, other=0.0)
    tl.store(target + row, tl.sum(x, axis=0))


@triton.jit
def row_sums_masked(source, lengths, target, width, TILE: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, TILE)
    x = tl.load(source + row * width + i, mask=i < tl.load(lengths + row), other=0.0)
    tl.store(target + row, tl.sum(x, axis=0))


@triton.jit
def row_sums_chosen_late(source, lengths, target, width, TILE: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, TILE)
    x = tl.load(source + row * width + i)
    tl.store(target + row, tl.sum(tl.where(i < tl.load(lengths + row), x, 0.0), axis=0))


@triton.jit
def helper(source, i):
    return tl.load(source + i)


@triton.jit
def through_a_helper(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + i, helper(source, i), mask=i < n)


@triton.jit
def prefix_sums(numbers, target, n, TILE: tl.constexpr):
    """Each program adds to what the one before it wrote."""
    p = tl.program_id(0)
    before = tl.load(target + p - 1, mask=p > 0, other=0.0)
    tl.store(target + p, before + tl.load(numbers + p))


@triton.jit
def count_all(numbers, total, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = tl.load(numbers + i, mask=i < n, other=0.0)
    tl.atomic_add(total, tl.sum(x, axis=0))


@triton.jit
def hashes(seeds, target, n, TILE: tl.constexpr):
    i = tl.arange(0, TILE)
    seed = tl.load(seeds + i, mask=i < n, other=0)
    tl.store(target + i, seed * 1_000_003 * 1_000_003, mask=i < n)


@triton.jit
def either(one, other, target, n, TILE: tl.constexpr):
    i = tl.arange(0, TILE)
    pointers = tl.where(i % 2 == 0, one + i, other + i)
    tl.store(target + i, tl.load(pointers, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def misspelt(source, target, n, TILE: tl.constexpr):
    i = tl.arange(0, TILE)
    tl.store(target + i, tl.load(sauce + i, mask=i < n), mask=i < n)  # noqa: F821


@triton.jit
def narrows(source, target, n, TILE: tl.constexpr):
    i = tl.arange(0, TILE)
    x = tl.load(source + i, mask=i < n, other=0.0).to(tl.bfloat16)
    tl.store(target + i, x.to(tl.float32), mask=i < n)


@triton.jit
def block_pointers(source, target, n, TILE: tl.constexpr):
    """A tile through block pointers, with no check of the boundary."""
    start = tl.program_id(0) * TILE
    x = tl.load(tl.make_block_ptr(source, (n,), (1,), (start,), (TILE,), (0,)))
    tl.store(tl.make_block_ptr(target, (n,), (1,), (start,), (TILE,), (0,)), x, boundary_check=(0,))


@triton.jit
def interrupted(source, target, n, TILE: tl.constexpr):
    tl.store(target, tl.load(source))
    raise KeyboardInterrupt


@triton.jit
def online_softmax(scores, target, width, TILE: tl.constexpr):
    """The log-sum-exp of each row, tile by tile, with helpers of Triton's own."""
    row = tl.program_id(0)
    largest, total = -float("inf"), 0.0
    for tile in range(0, tl.cdiv(width, TILE)):
        i = tile * TILE + tl.arange(0, TILE)
        x = tl.load(scores + row * width + i, mask=i < width, other=-float("inf"))
        new = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new), axis=0)
        largest = new
    tl.store(target + row, largest + tl.log(total))


@triton.jit
def wraps_on_purpose(seeds, pool, target, n, TILE: tl.constexpr):
    """A hash that leaves int32 and is cut down before it becomes an index."""
    i = tl.arange(0, TILE)
    seed = tl.load(seeds + i, mask=i < n, other=0)
    tl.store(target + i, tl.load(pool + ((seed * 1_000_003 * 1_000_003) & 7), mask=i < n), mask=i < n)


@triton.jit
def wraps_where_masked(table, pool, target, n, TILE: tl.constexpr):
    """The entries behind n leave int32, and are masked."""
    i = tl.arange(0, TILE)
    block = tl.load(table + i)
    tl.store(target + i, tl.load(pool + block * 1_048_576, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def no_pointer(source, target, n, TILE: tl.constexpr):
    address = tl.cast(tl.full([1], 4096, tl.int64), tl.pointer_type(tl.float32))
    tl.store(target + tl.arange(0, 1), tl.load(address))


@triton.jit
def masks_of_numbers(source, target, n, TILE: tl.constexpr):
    """`&` of a tile and a scalar comparison, which the interpreter computes as numbers 0 and 1."""
    i = tl.arange(0, TILE)
    here = (i < n) & (tl.program_id(0) == 0)
    tl.store(target + i, tl.load(source + i, mask=here, other=0.0), mask=here)


@triton.jit
def keyword_only_scale(source, target, scale, n, TILE: tl.constexpr):
    i = tl.arange(0, TILE)
    tl.store(target + i, scale * tl.load(source + i, mask=i < n), mask=i < n)


@triton.jit
def descriptors(source, target, n, TILE: tl.constexpr):
    """A tile through a descriptor that says 28 numbers more than there are."""
    tile = tl.make_tensor_descriptor(source, [n + 28], [1], [TILE]).load([tl.program_id(0) * TILE])
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + i, tile, mask=i < n)


@triton.jit
def given_descriptor(source, target, n, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + i, source.load([tl.program_id(0) * TILE]), mask=i < n)


interpreted = pytest.mark.skipif(type(copy).__name__ != "InterpretedFunction",
                                 reason="plain launches on the CPU need TRITON_INTERPRET=1, which a GPU turns off")
