"""Which exercises become parts of an engine, and where each of them is used."""

from __future__ import annotations

from typing import NamedTuple


class Role(NamedTuple):
    """used: where in the engine. invariants: those that are broken if this part is. kernel: whether it is Triton's.

    seconds: when one call is stopped; a kernel in Triton's interpreter has more to do than in its exercise.
    """

    used: str
    invariants: tuple[str, ...] = ()
    kernel: bool = False
    seconds: float = 5.0


ROLES: dict[str, Role] = {
    "BlockPool": Role("hands out every block, counts its holders", ("I1", "I2", "I13")),
    "blocks_needed": Role("how many blocks a new request needs", ("I3",)),
    "append_tokens": Role("the table of every new request", ("I3", "I2", "I4")),
    "slot_mapping": Role("where a prompt's keys and values go", ("I4",)),
    "write_kv": Role("writes keys and values into their slots", ("I12",), seconds=10.0),
    "gather_kv": Role("collects a sequence's keys and values for attention", ("I12",), seconds=10.0),
    "paged_attention": Role("attention, of prompts and of new tokens", ("I12", "I6"), seconds=30.0),
    "attend_blockwise": Role("attention of each new token", ("I12", "I6"), seconds=10.0),
    "write_kv_kernel": Role("writes keys and values into their slots", ("I12",), kernel=True, seconds=60.0),
    "paged_decode_kernel": Role("attention of each new token", ("I12", "I6"), kernel=True, seconds=120.0),
    "grouped_decode_kernel": Role("attention of each new token", ("I12", "I6"), kernel=True, seconds=120.0),
    "fork": Role("lets a request begin with blocks that others hold", ("I2",)),
    "append_with_cow": Role("the slot of each new token, and the copy before it", ("I5", "I2", "I3", "I4")),
    "block_hashes": Role("the keys of a prompt's blocks, with prefix='hash'", ("I9", "I8")),
    "longest_hit": Role("finds a prompt's beginning, with prefix='hash'", ("I7", "I9")),
    "evict": Role("which known blocks are forgotten when room is needed", ("I2",)),
    "radix_match": Role("finds a prompt's beginning, with prefix='radix'", ("I9", "I7")),
    "radix_insert": Role("files a prompt's blocks, with prefix='radix'", ("I9", "I2")),
    "pick_next": Role("who of those who wait goes next"),
    "admit": Role("whether the next in the queue may begin"),
    "schedule_step": Role("how many tokens of each prompt run in a step"),
    "choose_victim": Role("who must leave when no block is free", ("I11",)),
    "recompute_seconds": Role("what it costs to run a victim's tokens again"),
    "swap_seconds": Role("what it costs to move a victim's blocks"),
    "swap_plan": Role("where a victim's blocks go on the host", ("I2",)),
}
"""By exercise, in the order of the labs."""


def suspects(invariant: str, active: list[str]) -> list[str]:
    """Those of `active` that can have broken `invariant`; if none can, all of them."""
    return [name for name in active if invariant in ROLES[name].invariants] or active
