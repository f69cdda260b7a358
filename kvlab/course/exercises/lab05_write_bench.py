"""The bench for `write_kv_kernel` and `copy_blocks_kernel`: every number says where it comes from."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvlab.course.declare import Traces
from kvlab.course.exercises.lab04_tensors import numbered, torch
from kvlab.course.interpreter import Window
from kvlab.course.launches import Launch, launched

FAR = 2**31  # numbers that 32 bits can count


class Write(NamedTuple):
    """One launch of `write_kv_kernel`: the slots of the new tokens, and the numbers in a row. `far`: the pools' slots
    begin at number 2 ** 31. `empty`: the pools hold NaN, else another number in each place."""

    slots: tuple[int, ...]
    width: int = 6
    tile: int = 8
    num_slots: int = 12
    empty: bool = False
    far: bool = False
    dtype: str = "float32"


def writes(name: str, *values: Write, invariant: str | None = None, next: str | None = None) -> Traces:
    """A check that launches the kernel for each value."""
    return launched(name, written, *values, render=render_write, invariant=invariant, next=next)


def written(value: Write) -> Launch:
    """The arguments of a launch, and what the pools must hold."""
    kind, first = getattr(torch, value.dtype), FAR // value.width + 1 if value.far else 0
    keys, values = (numbered(len(value.slots), value.width, start=start).to(kind) for start in (700, 850))
    pools = [numbered(value.num_slots, value.width, start=start).to(kind) for start in (100, 400)]
    pools = [torch.full_like(pool, float("nan")) if value.empty else pool for pool in pools]
    wanted = [pool.clone() for pool in pools]
    for token, slot in enumerate(value.slots):
        if slot >= 0:
            wanted[0][slot], wanted[1][slot] = keys[token], values[token]
    key_pool, value_pool = (Window(pool, first * value.width) if first else pool for pool in pools)
    slots = torch.tensor([slot + first if slot >= 0 else slot for slot in value.slots])
    arguments = {"key": keys, "value": values, "key_pool": key_pool, "value_pool": value_pool, "slots": slots,
                 "width": value.width, "TILE": value.tile}
    outputs = {"key_pool": wanted[0], "value_pool": wanted[1]}
    return Launch((len(value.slots),), arguments, outputs, poisoned=())


def render_write(value: Write) -> list[str]:
    """The launch in words."""
    first = FAR // value.width + 1 if value.far else 0
    slots = [slot + first if slot >= 0 else slot for slot in value.slots]
    held = ", full of nan" * value.empty + f", {value.dtype}" * (value.dtype != "float32")
    return [f"write_kv_kernel[({len(slots)},)]: slots={slots}, width={value.width}, TILE={value.tile}, "
            f"pools of {first + value.num_slots:,} slots{held}"]


class Copy(NamedTuple):
    """One launch of `copy_blocks_kernel`: pairs of blocks, the numbers in a block, and those that a program moves."""

    pairs: tuple[tuple[int, int], ...]
    numel: int = 16
    tile: int = 8
    blocks: int = 6
    far: bool = False


def copies(name: str, *values: Copy, invariant: str | None = None, next: str | None = None) -> Traces:
    """A check that launches the kernel for each value."""
    return launched(name, copied, *values, render=render_copy, invariant=invariant, next=next)


def copied(value: Copy) -> Launch:
    """The arguments of a launch, and what the pool must hold."""
    first = FAR // value.numel + 1 if value.far else 0
    pool: Any = numbered(value.blocks, value.numel, start=100)
    wanted = pool.clone()
    for source, target in value.pairs:
        wanted[target] = pool[source]
    sources, targets = (torch.tensor([pair[side] + first for pair in value.pairs], dtype=torch.int32)
                        for side in (0, 1))
    arguments = {"pool": Window(pool, first * value.numel) if first else pool, "sources": sources, "targets": targets,
                 "block_numel": value.numel, "TILE": value.tile}
    return Launch((len(value.pairs), -(-value.numel // value.tile)), arguments, {"pool": wanted}, poisoned=())


def render_copy(value: Copy) -> list[str]:
    """The launch in words."""
    first = FAR // value.numel + 1 if value.far else 0
    sources, targets = ([pair[side] + first for pair in value.pairs] for side in (0, 1))
    grid = len(value.pairs), -(-value.numel // value.tile)
    return [f"copy_blocks_kernel[{grid}]: sources={sources}, targets={targets}, block_numel={value.numel}, "
            f"TILE={value.tile}"]
