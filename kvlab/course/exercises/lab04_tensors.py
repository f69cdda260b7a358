"""What the exercises of lab 04 share: torch when it is needed, paged conversations, and sentences about tensors.

Tolerance. Results are compared with sums in float64. In float32, sums of a few dozen products differ by about 1e-6
from one order of summing to another, so 1e-4, relative and absolute, lets every order pass; no known mistake is closer
than a hundred times that. Numbers that are only moved (written, gathered) must be the same to the bit.
"""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Wrong
from kvlab.course.shorten import show, with_article

TOLERANCE = 1e-4
STALE = (987_654_321, -1)  # what stands in a block table behind its last entry, left there by an earlier sequence
FILLS = {"nan": float("nan"), "inf": float("inf"), "1e4": 1e4, "0": 0.0}  # what lies in slots that hold nothing (F21)


class _Later:
    """torch, imported when it is first used: labs 00 to 03 run without it, and all labs are declared everywhere."""

    def __getattr__(self, name: str) -> Any:
        import torch

        return getattr(torch, name)


torch: Any = _Later()


def numbered(*shape: int, start: int = 0) -> Any:
    """A float32 tensor that counts up from `start`, so that every number says where it comes from."""
    count = 1
    for size in shape:
        count *= size
    return torch.arange(start, start + count, dtype=torch.float32).view(shape)


def equal(one: Any, other: Any) -> bool:
    """Whether two tensors hold the same, bit for bit; NaN equals NaN."""
    return one.shape == other.shape and bool(torch.isclose(one, other, rtol=0, atol=0, equal_nan=True).all())


def clone(tensor: Any) -> Any:
    """A copy that is laid out in memory as the original is."""
    return tensor.clone(memory_format=torch.preserve_format)


def unchanged(**given: tuple[Any, Any]) -> None:
    """`Wrong` if a tensor is not what it was: pairs (before, after) by the name of the argument."""
    for name, (before, after) in given.items():
        if not equal(before, after):
            raise Wrong(f"changed the tensor {name} that it was given, expected it to be left alone.")


def is_tensor(got: Any, shape: tuple[int, ...], what: str = "") -> Any:
    """`got` detached, if it is a float32 tensor of that shape; `Wrong` otherwise. `what`: what it should be."""
    of = what and f": {what}"
    if got is None:
        raise Wrong(f"returned nothing (None), expected a tensor of shape {shape}; is a `return` missing?")
    if not isinstance(got, torch.Tensor):
        raise Wrong(f"returned {show(got, 50)} ({with_article(type(got))}), expected a tensor of shape {shape}{of}.")
    if tuple(got.shape) != shape:
        raise Wrong(f"returned a tensor of shape {tuple(got.shape)}, expected {shape}{of}.")
    if got.dtype != torch.float32:
        raise Wrong(f"returned a tensor of {plain(got.dtype)}, expected float32, as all that it was given.")
    return got.detach()


def plain(dtype: Any) -> str:
    """"int64" for torch.int64."""
    return str(dtype).removeprefix("torch.")


def apart(wanted: Any, got: Any) -> Any:
    """Where two tensors of one shape differ by more than the tolerance, as a tensor of bool."""
    return ~torch.isclose(got.double(), wanted.double(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


def figures(got: float, wanted: float) -> str:
    """"0.12, expected 0.48", with as many digits as it takes to tell them apart, and a word on NaN."""
    digits = next((digits for digits in range(3, 9) if f"{got:.{digits}g}" != f"{wanted:.{digits}g}"), 9)
    why = "" if got == got else " (nan comes from unwritten slots, 0 / 0 and inf - inf)"
    return f"{got:.{digits}g}, expected {wanted:.{digits}g}{why}"


class Pages:
    """A pool of keys or values in which conversations lie in shuffled blocks, and `fill` everywhere else."""

    def __init__(self, rows: list[Any], tables: list[list[int]], num_blocks: int, block_size: int, fill: str) -> None:
        self.pool = torch.full((num_blocks, block_size, *rows[0].shape[1:]), FILLS[fill])
        for said, table in zip(rows, tables, strict=True):
            for i in range(len(said)):
                self.pool[table[i // block_size], i % block_size] = said[i]


def shuffled_tables(lengths: list[int], block_size: int, spare: int, draw: Any) -> tuple[list[list[int]], int]:
    """Blocks for each length, none twice and no two neighbours by design, and how many blocks the pool has."""
    needed = [-(-length // block_size) for length in lengths]
    num_blocks = sum(needed) + spare
    order = torch.randperm(num_blocks, generator=draw).tolist()
    tables = []
    for count in needed:
        tables.append(order[:count])
        order = order[count:]
    return tables, num_blocks


def dense(queries: Any, keys: Any, values: Any, scale: float) -> tuple[Any, Any]:
    """Causal attention from the formula, row by row and head by head, in float64: the output, and the log of each sum.

    queries [Q, heads, dim] are the last Q of the C tokens of keys and values [C, kv_heads, dim]. C = 0 gives 0, -inf.
    """
    rows, heads, context = len(queries), queries.shape[1], len(keys)
    output = torch.zeros(rows, heads, values.shape[-1], dtype=torch.float64)
    lse = torch.full((rows, heads), float("-inf"), dtype=torch.float64)
    for row in range(rows):
        seen = max(context - rows + row + 1, 0)
        for head in range(heads if seen else 0):
            kv = head // (heads // keys.shape[1])
            scores = keys[:seen, kv].double() @ queries[row, head].double() * scale
            lse[row, head] = scores.logsumexp(0)
            output[row, head] = torch.exp(scores - lse[row, head]) @ values[:seen, kv].double()
    return output, lse
