"""The bench for `page_latents`: a pool of one head, latents written before, and attention from the formula."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from kvlab.course.declare import Wrong
from kvlab.course.exercises.lab04_tensors import FILLS, apart, clone, equal, figures, is_tensor, torch, unchanged
from kvlab.course.exercises.scenarios import scenarios

NAMES = ("query", "latent", "rotary", "pool", "slots", "table", "length", "key_up", "value_up")


class Step(NamedTuple):
    """One call: the last `new` of `length` tokens are written and attended."""

    length: int
    new: int = 1
    heads: int = 2
    key_dim: int = 3
    rope_dim: int = 2
    value_dim: int = 4
    latent_dim: int = 5
    block_size: int = 4
    scale: float | None = None
    fill: str = "nan"


class Given(NamedTuple):
    """The arguments, in their order."""

    query: Any
    latent: Any
    rotary: Any
    pool: Any
    slots: Any
    table: list[int]
    length: int
    key_up: Any
    value_up: Any


class Made(NamedTuple):
    """The arguments of a call, the pool as it must be afterwards, and the right output."""

    given: Given
    pool: Any
    output: Any


@functools.lru_cache(maxsize=64)
def made(value: Step) -> Made:
    """Everything about one call."""
    draw = torch.Generator().manual_seed(9)
    latents = torch.randn(value.length, value.latent_dim, generator=draw)
    rotaries = torch.randn(value.length, value.rope_dim, generator=draw)
    key_up = torch.randn(value.heads, value.key_dim, value.latent_dim, generator=draw)
    value_up = torch.randn(value.heads, value.value_dim, value.latent_dim, generator=draw)
    query = torch.randn(value.new, value.heads, value.key_dim + value.rope_dim, generator=draw)
    blocks = -(-value.length // value.block_size)
    table = torch.randperm(blocks + 2, generator=draw)[:blocks].tolist()
    rows = torch.cat([latents, rotaries], 1)
    size = value.block_size
    after = torch.full((blocks + 2, size, 1, rows.shape[1]), FILLS[value.fill])
    before, first = after.clone(), value.length - value.new
    for token in range(value.length):
        after[table[token // size], token % size, 0] = rows[token]
        if token < first:
            before[table[token // size], token % size, 0] = rows[token]
    slots = torch.tensor([table[t // size] * size + t % size for t in range(first, value.length)], dtype=torch.int64)
    given = Given(query, latents[first:], rotaries[first:], before, slots, table, value.length, key_up, value_up)
    return Made(given, after, _attended(query, latents, rotaries, key_up, value_up, value.scale))


def _attended(query: Any, latents: Any, rotaries: Any, key_up: Any, value_up: Any, scale: float | None) -> Any:
    """`[new, heads, value_dim]` in float64: every latent made into a key and a value for every head."""
    key = torch.einsum("hkc,tc->thk", key_up.double(), latents.double())
    key = torch.cat([key, rotaries.double()[:, None].expand(-1, len(key_up), -1)], -1)
    scores = torch.einsum("nhd,thd->hnt", query.double(), key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    new, length = scores.shape[1:]
    later = torch.arange(length) > torch.arange(length - new, length)[:, None]
    values = torch.einsum("hvc,tc->thv", value_up.double(), latents.double())
    return torch.einsum("hnt,thv->nhv", scores.masked_fill(later, float("-inf")).softmax(-1), values)


def run(part: Any, value: Step) -> None:
    """One step with the learner's function; `Wrong` for what it wrote, then for what it returned."""
    given, after, wanted = made(value)
    copies: list[Any] = [clone(one) if isinstance(one, torch.Tensor) else one for one in given]
    fresh = Given(*copies)._replace(table=list(given.table))
    found = part(*fresh) if value.scale is None else part(*fresh, scale=value.scale)
    _written(fresh.pool, after, given)
    got = is_tensor(found, tuple(wanted.shape), "new tokens, heads, numbers of a value")
    differ = apart(wanted, got)
    if bool(differ.any()):
        row, head, number = differ.nonzero()[0].tolist()
        heads = int(differ.any(2).any(0).sum())
        raise Wrong(f"query {row}, head {head}, number {number}: "
                    f"{figures(float(got[row, head, number]), float(wanted[row, head, number]))}; "
                    f"{heads} of {wanted.shape[1]} heads differ.", alike=got)
    unchanged(**{name: pair for name, *pair in zip(NAMES, given, fresh, strict=True)  # type: ignore[arg-type]
                 if isinstance(pair[0], torch.Tensor) and name != "pool"})
    if fresh.table != given.table:
        raise Wrong("changed the table that it was given, expected it to be left alone.")


def _written(pool: Any, after: Any, given: Given) -> None:
    """`Wrong` if a slot of the pool does not hold what it must."""
    flat, wanted = pool.flatten(0, 1)[:, 0], after.flatten(0, 1)[:, 0]
    for slot in range(len(wanted)):
        if not equal(flat[slot], wanted[slot]):
            mine = slot in given.slots.tolist()
            held = [round(number, 3) for number in flat[slot].tolist()]
            meant = [round(number, 3) for number in wanted[slot].tolist()]
            what = "the new token's latent and rotary key" if mine else "to be left alone"
            raise Wrong(f"slot {slot} holds {held}, expected {meant if mine else 'what was there'}, {what}.",
                        next="write new tokens' latents and rotary keys side by side into slots, and nothing else",
                        alike=flat.clone())


def render(value: Step) -> list[str]:
    """The call in words."""
    scale = "" if value.scale is None else f", scale={value.scale:g}"
    tokens = f"{value.length} token{'s' * (value.length != 1)}"
    heads = f"{value.heads} head{'s' * (value.heads != 1)}"
    return [f"{value.new} new of {tokens}, blocks of {value.block_size}{scale}; {value.fill} in other slots",
            f"{heads}, key_dim {value.key_dim}, rope_dim {value.rope_dim}, value_dim {value.value_dim}, "
            f"latent_dim {value.latent_dim}"]


def steps(name: str, *values: Step, invariant: str | None = None, next: str | None = None) -> Any:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)


def random_steps() -> Any:
    """A Hypothesis strategy for `Step`s."""
    from hypothesis import strategies as st

    @st.composite
    def values(draw: Any) -> Step:
        length = draw(st.integers(1, 10))
        heads, key_dim, rope_dim, value_dim, latent_dim = (draw(st.integers(1, 3)) for _ in range(5))
        new, block_size = draw(st.integers(1, min(length, 3))), draw(st.integers(1, 4))
        return Step(length, new, heads, key_dim, rope_dim, value_dim, latent_dim, block_size)

    return values()
