"""The bench for `write_kv`: pools whose every number says where it comes from, so that a wrong slot can be told."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvlab.course.declare import Wrong
from kvlab.course.exercises.lab04_tensors import clone, equal, numbered, torch, unchanged


class Write(NamedTuple):
    """One call: the slots of the new tokens, and the pools. `empty`: the pools hold NaN, else another number in each
    place. `strided`: keys and values lie head by head in memory, as a model computes them."""

    slots: tuple[int, ...]
    blocks: int = 5
    block_size: int = 4
    kv_heads: int = 2
    key_dim: int = 3
    value_dim: int = 3
    empty: bool = False
    strided: bool = False

    def pool(self, dim: int, start: int) -> Any:
        pool = numbered(self.blocks, self.block_size, self.kv_heads, dim, start=start)
        return torch.full_like(pool, float("nan")) if self.empty else pool

    def rows(self, dim: int, start: int) -> Any:
        if self.strided:
            return numbered(self.kv_heads, len(self.slots), dim, start=start).transpose(0, 1)
        return numbered(len(self.slots), self.kv_heads, dim, start=start)


def run(part: Any, value: Write) -> None:
    """Writes on the learner's function; `Wrong` at the first slot that does not hold what it must."""
    pools = value.pool(value.key_dim, 10_000), value.pool(value.value_dim, 20_000)
    rows = value.rows(value.key_dim, 30_000), value.rows(value.value_dim, 40_000)
    slots = torch.tensor(value.slots, dtype=torch.int64)
    before, kept = tuple(map(clone, pools)), tuple(map(clone, rows))
    given = clone(slots)
    part(*pools, *rows, slots)
    for place, name in enumerate(("key", "value")):
        _same_slots(name, pools[place], before[place], value.slots, kept)
    unchanged(key=(kept[0], rows[0]), value=(kept[1], rows[1]), slots=(given, slots))


def _same_slots(name: str, pool: Any, before: Any, slots: tuple[int, ...], rows: tuple[Any, Any]) -> None:
    if pool.shape != before.shape:
        shapes = f"{tuple(pool.shape)}, expected it to stay {tuple(before.shape)}"
        raise Wrong(f"changed the shape of {name}_pool to {shapes}.")
    now, then = pool.detach().flatten(0, 1), before.flatten(0, 1)
    own = rows[0] if name == "key" else rows[1]
    wanted = {slot: token for token, slot in enumerate(slots) if slot >= 0}
    others = [slot for slot in range(len(then)) if slot not in wanted]
    for slot in [*wanted, *others]:
        token = wanted.get(slot)
        if not equal(now[slot], then[slot] if token is None else own[token]):
            held = _content(now[slot], slot, then, rows, slots)
            last = ", the last one," if slot == len(then) - 1 else ""
            expected = "what it held before" if token is None else f"the {name} of token {token}"
            raise Wrong(f"slot {slot}{last} of {name}_pool holds {held}, expected {expected}.")


def _content(row: Any, slot: int, then: Any, rows: tuple[Any, Any], slots: tuple[int, ...]) -> str:
    """What a slot holds, in words."""
    if equal(row, then[slot]):
        return "what it held before" + (" (nan)" if bool(row.isnan().all()) else "")
    for name, tokens in zip(("key", "value"), rows, strict=True):
        for token, own in enumerate(tokens):
            if equal(row, own):
                return f"a {name} whose slot is -1" if slots[token] < 0 else f"the {name} of token {token}"
    if not bool(row.any()):
        return "zeros"
    return "nan" if bool(row.isnan().any()) else "numbers that are no token's"


def render(value: Write) -> list[str]:
    """What was called, with a comment for the pools."""
    dims = f"{value.key_dim}" if value.key_dim == value.value_dim else f"{value.key_dim} (values {value.value_dim})"
    pools = f"pools of {value.blocks} blocks of {value.block_size} tokens, kv_heads {value.kv_heads}, head_dim {dims}"
    held = ", full of nan" if value.empty else ""
    lines = [f"{pools}{held}", f"write_kv(key_pool, value_pool, key, value, slots=tensor({list(value.slots)}))"]
    if value.strided:
        lines.insert(1, "key and value are tensors [kv_heads, num_tokens, head_dim], seen through .transpose(0, 1)")
    return lines


def random_writes() -> Any:
    """A Hypothesis strategy for `Write`s: any free slots in any order, with padding between them."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: Any) -> Write:
        blocks, block_size = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        slots = draw(st.lists(st.integers(0, blocks * block_size - 1), unique=True, max_size=6))
        for place in draw(st.lists(st.integers(0, len(slots)), max_size=2)):
            slots.insert(place, -1)
        return Write(tuple(slots), blocks, block_size, draw(st.integers(1, 2)), 1, draw(st.integers(1, 2)))

    return values()
