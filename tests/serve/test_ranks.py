"""KV heads over ranks: real processes that torchrun has started, one block table, and the tokens of one process."""

from __future__ import annotations

import copy
import json
import math
import socket
import subprocess
import sys

import psutil
import pytest
import torch
from torch import nn
from transformers import Gemma2Config

from kvlab.compute.shards import cut_columns, cut_rows
from kvlab.errors import UsageError
from kvlab.models import load_courier
from kvlab.serve.batch import Row
from kvlab.serve.hf_shards import shard_model, shards_of
from kvlab.serve.hf_support import Unsupported
from kvlab.serve.link import Link, RankLost, Work
from kvlab.serve.lockstep import RankedEngine
from kvlab.serve.ranks import Job, OnRanks, generate_on_ranks, main, run_ranks
from kvlab.serve.ranks_launch import Refused, environment, read_result, torchrun
from tests.serve.models import COMMON, greedy, prompt, tiny
from tests.serve.ranks_cases import FAMILIES, UNCUT, cases
from tests.serve.ranks_running import alone, margin, on_ranks, refuse_wrong_shares

CPU = torch.device("cpu")


@pytest.mark.parametrize(("name", "which"), cases(2))
def test_two_ranks_say_what_one_says_and_each_holds_half_of_the_cache(name, which):
    found = on_ranks(2)[f"{name} {which}"]
    assert found["said"] == alone(name, which)
    assert found["stats"]["blocks_free"] == found["stats"]["blocks"]
    refuse_wrong_shares(name, found["held"], 2)


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


def test_generate_on_ranks_tells_what_each_rank_holds_and_what_was_said_to_it():
    model, tokenizer = load_courier()
    texts = ["Where is my order?", "Can I still cancel it?"]
    found = generate_on_ranks(texts, 2, max_new_tokens=6, block_size=8, engine={"prefix": "hash"}, timeout=120)
    assert found.heads == [[0, 1], [2, 3]] and found.kv_heads == [[0], [1]]
    assert found.bytes_per_token == [1024, 1024]
    chats = [[{"role": "user", "content": text}] for text in texts]
    prompts = [
        tokenizer(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))["input_ids"]
        for chat in chats
    ]
    assert found.tokens == [greedy(model, ids, 6) for ids in prompts]
    computed = sum(len(ids) for ids in prompts) + sum(len(tokens) - 1 for tokens in found.tokens)
    assert found.computed_tokens == computed - found.found_tokens
    assert found.sums == 2 * model.config.num_hidden_layers * (found.steps + 1)  # the trial run of one token too
    assert found.summed_bytes == 2 * 4 * 128 * 4 * (computed + 1)  # sums x layers x hidden size x bytes a number
    assert 0 < found.integers < 20 * computed


def test_what_a_rank_refuses_comes_back_as_its_sentence_and_counts_more_than_that_others_are_lost(
    monkeypatch, capsys, tmp_path
):
    one_rank(monkeypatch)
    (tmp_path / "lost.1").write_text("rank 1 has lost the others")
    arguments = ["hello", "--max-new-tokens", "5000", "--num-blocks", "4", "--result", str(tmp_path / "result")]
    assert main(arguments) == 2
    says = "may need 50.. positions of the model, and there are 2048"
    with pytest.raises(Refused, match=says):
        read_result(tmp_path, "")
    (tmp_path / "refused.0").unlink()
    with pytest.raises(RankLost, match="rank 1 has lost"):
        read_result(tmp_path, "")
    (tmp_path / "lost.1").unlink()
    with pytest.raises(RankLost, match=r"without an answer; the last they said was\nSegmentation"):
        read_result(tmp_path, "Segmentation")


def test_a_rank_whose_partner_stops_or_dies_is_told_so(tmp_path):
    ports = [str(free_port()) for _ in range(2)]
    command = [sys.executable, "-m", "tests.serve.ranks_trouble"]
    parts = [
        subprocess.Popen([*command, part, *ports, str(tmp_path / "told")], env=environment(), cwd=tmp_path)
        for part in ("first", "stops", "dies")
    ]
    try:
        assert parts[0].wait(120) == 0
    finally:
        for part in parts:
            part.kill()
            part.wait()
    stopped, died = json.loads((tmp_path / "told").read_text())
    assert stopped == "rank 0 of 2 has lost the others: one of them has ended, or has not answered for 3 seconds"
    assert died == stopped.replace("3 seconds", "60 seconds")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_ranks_that_take_too_long_are_ended():
    with pytest.raises(RankLost, match=r"have not come to an end in 0\.5 seconds"):
        torchrun(2, "tests.serve.ranks_cases", ["nowhere"], limit=0.5)
    assert not processes()


def processes() -> list[psutil.Process]:
    """What torchrun has left of what this process started."""
    found = psutil.Process().children(recursive=True)
    return [process for process in found if any("kvlab" in part or "ranks" in part for part in process.cmdline())]


@pytest.mark.parametrize(
    ("model", "ranks", "says"),
    [
        ("llama", 3, "4 query heads do not divide over 3 ranks|2 KV heads do not divide over 3 ranks"),
        ("llama", 8, "4 query heads do not divide over 8 ranks"),
        ("llama", 0, "at least 1"),
        ("opt", 2, "no plan that names the projections"),
        ("gpt2", 2, "no plan that names the projections"),
        ("gpt_oss", 2, "no plan that names the projections"),
        ("deepseek_v2", 2, "latents belong to all heads"),
        ("qwen3_moe", 2, "layers of the kind"),
    ],
)
def test_a_model_that_cannot_be_cut_is_refused_before_any_process_is_started(model, ranks, says):
    before = len(psutil.Process().children(recursive=True))
    with pytest.raises(Unsupported, match=says):
        generate_on_ranks([[5]], ranks, model=tiny(model))
    assert len(psutil.Process().children(recursive=True)) <= before


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
    with pytest.raises(UsageError, match="not attention"):
        Job([[5]], engine={"attention": 1})
    with pytest.raises(UsageError, match="no settings of Sampling"):
        Job([[5]], sampling={"heat": 1})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"prompts": []}, "at least 1 prompt"),
        ({"prompts": "one text"}, "at least 1 prompt"),
        ({"prompts": [[5]], "timeout": 0}, "more than 0 seconds"),
        ({"prompts": [[5]], "block_size": 0}, "at least 1 slot"),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(arguments, says):
    with pytest.raises(UsageError, match=says):
        Job(**arguments)


def test_what_json_cannot_hold_is_refused_and_the_rest_comes_back_as_it_was(tmp_path):
    job = Job([[5, 6], "a text"], sampling={"temperature": 0.5}, engine={"prefix": "hash", "max_running": 3})
    job.save(tmp_path / "job")
    assert Job.load(tmp_path / "job") == job
    with pytest.raises(UsageError, match="numbers, text and lists only"):
        Job([[5]], engine={"order": object()}).save(tmp_path / "job")


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


def one_rank(monkeypatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")


def test_one_rank_needs_no_other_and_prints_answers_and_shares(monkeypatch, capsys):
    one_rank(monkeypatch)
    assert main(["Where is my order?", "--max-new-tokens", "4", "--prefix", "hash"]) == 0
    printed = capsys.readouterr().out
    assert "rank 0: query heads [0, 1, 2, 3], KV heads [0, 1], 2,048 bytes of cache a token" in printed
    found = run_ranks(Job([[5, 6, 7]], max_new_tokens=3))
    assert found is not None and found.tokens == [greedy(load_courier()[0], [5, 6, 7], 3)]


def test_without_torchrun_the_command_says_how_it_is_started(monkeypatch, capsys):
    monkeypatch.delenv("RANK", raising=False)
    assert main(["a prompt"]) == 2
    assert "torchrun --nproc-per-node 2 -m kvlab.serve.ranks" in capsys.readouterr().err


def test_the_command_refuses_a_model_that_is_not_there_in_a_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["a prompt", "--model", str(tmp_path / "nothing")]) == 2
    assert "could be loaded" in capsys.readouterr().err


def test_answers_come_back_from_a_file_as_they_were(tmp_path):
    found = OnRanks([[1]], [[0]], [[0]], [8], 4, 16, 1, 2, 0, 0, 9, 3, 96)
    found.save(tmp_path / "result")
    assert OnRanks.load(tmp_path / "result") == found
