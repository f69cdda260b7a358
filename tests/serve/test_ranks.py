"""KV heads over ranks: real processes that torchrun has started, one block table, and the tokens of one process."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn
from transformers import Gemma2Config

from kvlab.compute.shards import cut_columns, cut_rows
from kvlab.errors import UsageError
from kvlab.serve.batch import Row
from kvlab.serve.hf_shards import shard_model, shards_of
from kvlab.serve.hf_support import Unsupported
from kvlab.serve.link import Link, RankLost, Work
from kvlab.serve.lockstep import RankedEngine
from kvlab.serve.ranks_job import Job
from tests.serve.models import COMMON, greedy, prompt, tiny
from tests.serve.ranks_cases import FAMILIES, UNCUT, cases
from tests.serve.ranks_running import alone, margin, on_ranks, refuse_wrong_shares

CPU = torch.device("cpu")


@pytest.mark.parametrize(("name", "which"), cases(2))
def test_two_ranks_say_what_one_says_and_each_holds_half_of_the_cache(name, which):
    found = on_ranks(2)[f"{name} {which}"]
    assert found["said"] == alone(name, which)
    assert found["stats"]["blocks_free"] == found["stats"]["blocks"]
    refuse_wrong_shares(name, which, found["held"], 2)


def test_the_loads_over_two_ranks_were_what_their_names_say():
    found = {name: case["stats"] for name, case in on_ranks(2).items() if name != "refused"}
    assert found["llama pressed"]["preemptions"] and found["llama pressed"]["recomputed_tokens"]
    assert found["llama swapped"]["swaps"] and not found["llama swapped"]["recomputed_tokens"]
    assert found["llama hash"]["prefix_hits"] > 40 and found["llama radix"]["prefix_hits"] > 40
    assert found["courier courier"]["preemptions"]


@pytest.mark.parametrize("name", [*FAMILIES, "1", "4"])
def test_no_tested_token_is_won_by_so_little_that_the_order_of_a_sum_decides(name):
    assert margin(name) > 1e-4  # sums in another order move the logits of these models by about 1e-6


@pytest.mark.parametrize("number", range(len(UNCUT)))
def test_a_model_that_cannot_be_cut_is_refused_on_every_rank_with_the_same_sentence(number):
    sentences = {each[number] for each in on_ranks(2)["refused"]}
    assert len(sentences) == 1 and "cannot be cut over 2 ranks" in sentences.pop()


def test_an_mlp_that_does_not_divide_is_refused():
    config = Gemma2Config(**{**COMMON, "intermediate_size": 47})
    with pytest.raises(Unsupported, match="its MLP is 47 wide"):
        shards_of(config, 2)


def test_an_attention_with_a_part_that_sees_all_heads_is_refused_and_nothing_is_cut():
    model = copy.deepcopy(tiny("llama"))
    model.model.layers[1].self_attn.gains = nn.Parameter(torch.ones(4))
    before = {name: weight.shape for name, weight in model.named_parameters()}
    with pytest.raises(Unsupported, match="its gains belongs to all heads"):
        shard_model(model, 0, 2, lambda tensor: tensor)
    model.model.layers[1].self_attn.gains = None
    model.model.layers[1].mlp.up_proj = nn.Sequential(model.model.layers[1].mlp.up_proj)
    with pytest.raises(Unsupported, match="it is a Sequential"):
        shard_model(model, 0, 2, lambda tensor: tensor)
    assert {name.replace("up_proj.0", "up_proj"): weight.shape for name, weight in model.named_parameters()} == {
        name: shape for name, shape in before.items() if "gains" not in name
    }


def test_shares_of_two_layers_in_a_row_need_one_sum_and_add_the_bias_once():
    torch.manual_seed(0)
    first, second, inputs = nn.Linear(6, 12), nn.Linear(12, 5), torch.randn(3, 6)
    expected = second(torch.relu(first(inputs)))
    partial: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        partial.append(tensor.clone())
        return tensor.zero_()

    for part in range(4):
        shares = cut_rows(first, part, 4), cut_columns(second, part, 4, keep)
        assert torch.equal(shares[1](torch.relu(shares[0](inputs))), second.bias.expand(3, 5))
        assert shares[0].weight.shape == (3, 6) and shares[1].linear.weight.shape == (5, 3)
    torch.testing.assert_close(sum(partial) + second.bias, expected)
    for wrong in ((0, 5), (4, 4), (-1, 4)):
        with pytest.raises(UsageError, match="12 rows have no share"):
            cut_rows(first, *wrong)


def test_an_option_that_the_other_ranks_would_not_know_of_is_refused():
    with pytest.raises(UsageError, match="takes checked, .* not kernels"):
        RankedEngine(copy.deepcopy(tiny("llama")), Link(0, 1, CPU), 8, 4, kernels=None)
    three = torch.ones(3)
    with pytest.raises(UsageError, match="there are 2 KV heads, and scales for 3"):
        RankedEngine(copy.deepcopy(tiny("llama")), Link(0, 1, CPU), 8, 4, kv_dtype="fp8", scales=(three, three))
    with pytest.raises(UsageError, match="not attention"):
        Job([[5]], engine={"attention": 1})
    with pytest.raises(UsageError, match="no settings of Sampling"):
        Job([[5]], sampling={"heat": 1})


def test_a_step_that_failed_on_the_way_is_not_repeated_as_the_ranks_may_have_parted(monkeypatch):
    engine = RankedEngine(copy.deepcopy(tiny("llama")), Link(0, 1, CPU), 8, 4, fill=math.nan)
    engine.submit(prompt(5), 4)
    with monkeypatch.context() as patched:
        patched.setattr(engine.paged, "forward", lambda batch: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            engine.step()
    with pytest.raises(RankLost, match="start the ranks again"):
        engine.step()


def test_an_engine_that_was_closed_serves_no_more_as_nobody_follows_it():
    engine = RankedEngine(copy.deepcopy(tiny("llama")), Link(0, 1, CPU), 8, 4)
    asked = engine.submit(prompt(5), 4)
    engine.run()
    assert asked.tokens == greedy(tiny("llama"), prompt(5), 4)
    engine.close()
    engine.close()
    engine.submit(prompt(5), 4)
    with pytest.raises(RankLost, match="was closed"):
        engine.step()


def test_integers_of_a_step_are_counted():
    work = Work([(1, 2)], [], [(3, 4), (5, 6)], [Row([7, 8], 0, [9], [36, 37]), Row([1], 4, [2, 3], [12])])
    assert work.num_integers == 6 + (2 + 2 + 1 + 2) + (2 + 1 + 2 + 1)
