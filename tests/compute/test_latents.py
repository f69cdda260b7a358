"""MLA on pages: latents in one head, attended in two ways, beside plain attention and beside DeepSeek's own code."""

from __future__ import annotations

import math

import pytest
import torch

from kvlab.compute import attend_absorbed, page_latents, paged_attention
from kvlab.errors import UsageError
from kvlab.memory import KVShape
from kvlab.serve.batch import Row
from kvlab.serve.hf import PagedModel
from tests.serve.models import prompt, tiny

HEADS, KEY, ROPE, VALUE, LATENT, B = 3, 5, 2, 4, 6, 4
TABLE, LENGTH = [5, 1, 3], 10


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


LATENTS, ROTARY, QUERY = drawn(LENGTH, LATENT), drawn(LENGTH, ROPE, seed=1), drawn(LENGTH, HEADS, KEY + ROPE, seed=2)
KEY_UP, VALUE_UP = drawn(HEADS, KEY, LATENT, seed=3), drawn(HEADS, VALUE, LATENT, seed=4)
SLOTS = torch.tensor([TABLE[i // B] * B + i % B for i in range(LENGTH)])


def pool(fill: float = math.nan) -> torch.Tensor:
    return torch.full((7, B, 1, LATENT + ROPE), fill, dtype=torch.float64)


def dense() -> torch.Tensor:
    """Every head's keys and values, token by token and head by head, with no pages."""
    out = torch.zeros(LENGTH, HEADS, VALUE, dtype=torch.float64)
    for head in range(HEADS):
        keys = torch.stack([torch.cat([KEY_UP[head] @ LATENTS[t], ROTARY[t]]) for t in range(LENGTH)])
        values = torch.stack([VALUE_UP[head] @ LATENTS[t] for t in range(LENGTH)])
        for t in range(LENGTH):
            weights = (keys[: t + 1] @ QUERY[t, head] / math.sqrt(KEY + ROPE)).softmax(0)
            out[t, head] = weights @ values[: t + 1]
    return out


@pytest.mark.parametrize("steps", [[10], [4, 6], [3, 1, 1, 5], [1] * 10], ids=str)
def test_latents_written_and_attended_in_any_steps_give_dense_attention_from_a_pool_of_nan(steps):
    pages, start, found = pool(), 0, []
    for new in steps:
        stop = start + new
        part = slice(start, stop)
        given = QUERY[part], LATENTS[part], ROTARY[part]
        found.append(page_latents(*given, pages, SLOTS[part], [*TABLE, -7], stop, KEY_UP, VALUE_UP))
        assert torch.allclose(attend_absorbed(QUERY[part], pages, TABLE, stop, KEY_UP, VALUE_UP), found[-1])
        start = stop
    assert torch.allclose(torch.cat(found), dense())


def test_a_given_scale_is_the_one_that_is_used_in_both_forms():
    pages = pool()
    given = QUERY, LATENTS, ROTARY, pages, SLOTS, TABLE, LENGTH, KEY_UP, VALUE_UP
    one = page_latents(*given, scale=0.1)
    assert not torch.allclose(one, dense())
    assert torch.allclose(attend_absorbed(QUERY, pages, TABLE, LENGTH, KEY_UP, VALUE_UP, 0.1), one)


def test_the_absorbed_form_is_attention_with_one_kv_head_that_all_query_heads_share():
    pages = pool()
    expected = page_latents(QUERY, LATENTS, ROTARY, pages, SLOTS, TABLE, LENGTH, KEY_UP, VALUE_UP)
    down = torch.cat([torch.einsum("nhk,hkc->nhc", QUERY[..., :KEY], KEY_UP), QUERY[..., KEY:]], -1)
    sizes = torch.tensor([TABLE]), torch.tensor([0, LENGTH]), torch.tensor([LENGTH])
    values = pages[..., :LATENT].contiguous()
    mixed = paged_attention(down, pages, values, *sizes, scale=(KEY + ROPE) ** -0.5)
    assert torch.allclose(torch.einsum("nhc,hvc->nhv", mixed, VALUE_UP), expected)


@pytest.mark.parametrize("change", ["rotary", "pool", "up", "table", "slot", "length", "dimensions"])
def test_what_does_not_fit_is_refused_before_anything_is_written(change):
    given = {
        "query": QUERY, "latent": LATENTS, "rotary": ROTARY, "pool": pool(0.5), "slots": SLOTS, "table": TABLE,
        "length": LENGTH, "key_up": KEY_UP, "value_up": VALUE_UP,
    }  # fmt: skip
    wrong = {
        "rotary": {"rotary": ROTARY[:, :1]}, "pool": {"pool": pool(0.5).expand(7, B, 2, -1)},
        "up": {"value_up": VALUE_UP[:2]}, "table": {"table": [5, 1, 9]}, "slot": {"slots": SLOTS + 20},
        "length": {"length": 9}, "dimensions": {"latent": LATENTS[:, None]},
    }  # fmt: skip
    given |= wrong[change]
    with pytest.raises(UsageError):
        page_latents(**given)
    assert bool((given["pool"] == 0.5).all())


@pytest.mark.parametrize("name", ["deepseek_v2", "deepseek_v3"])
def test_the_models_own_latents_and_projections_give_the_models_own_attention(name):
    """The model expands and attends by its own code; from its pools and weights alone, `page_latents` gets the same."""
    model, ids, seen = tiny(name), prompt(7), []

    def listen(query, key_pool, value_pool, *rest, **options):
        options.pop("plan", None)
        found = paged_attention(query, key_pool, value_pool, *rest, **options)
        seen.append((query, options["scale"], found))
        return found

    paged = PagedModel(model, 4, B, attention=listen, fill=math.nan)
    seen.clear()
    table = [2, 3]
    slots = [table[i // B] * B + i % B for i in range(7)]
    paged.run([Row(ids, 0, table, slots)])
    for layer, (query, scale, expected) in enumerate(seen):
        attention, config = model.model.layers[layer].self_attn, model.config
        up = attention.kv_b_proj.weight.detach().view(config.num_attention_heads, -1, config.kv_lora_rank)
        key_up, value_up = up.split([config.qk_nope_head_dim, config.v_head_dim], 1)
        latent, rotary = paged.cache.gather(layer, table, 7)
        pages = torch.full((4, B, 1, config.kv_lora_rank + config.qk_rope_head_dim), math.nan)
        where = torch.tensor(slots)
        args = query, latent[:, 0], rotary[:, 0], pages, where, table, 7, key_up, value_up, scale
        with torch.inference_mode():
            assert torch.allclose(page_latents(*args), expected, atol=1e-5)
            assert torch.allclose(attend_absorbed(query, pages, table, 7, key_up, value_up, scale), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["deepseek_v2", "deepseek_v3"])
def test_the_pools_of_a_real_model_take_the_bytes_that_its_shape_says_and_far_fewer_than_heads_would(name):
    model = tiny(name)
    shape = KVShape.from_config(model.config, bytes_per_number=4)
    heads = KVShape("the same, expanded", shape.layers, shape.kv_heads, shape.head_dim, 4, value_dim=shape.value_dim)
    assert PagedModel(model, 4, B).cache.bytes_per_token == shape.bytes_per_token == 2 * (12 + 4) * 4
    assert heads.bytes_per_token == 2 * 4 * (12 + 6) * 4 and heads.bytes_per_token / shape.bytes_per_token == 4.5
