"""Ranks started by torchrun from a notebook or a shell: what comes back, what is refused, and that all of them end."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from _thread import interrupt_main
from pathlib import Path

import psutil
import pytest
import torch

from kvlab.errors import UsageError
from kvlab.models import load_courier
from kvlab.serve.hf_support import Unsupported
from kvlab.serve.link import RankLost
from kvlab.serve.ranks import Job, OnRanks, generate_on_ranks, main, run_ranks
from kvlab.serve.ranks_launch import Refused, environment, read_result, torchrun
from tests.serve.models import greedy, tiny
from tests.serve.ranks_running import free_port


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


def test_ranks_that_take_too_long_are_ended(tmp_path):
    with pytest.raises(RankLost, match=r"have not come to an end in 0\.5 seconds"):
        torchrun(2, "tests.serve.ranks_asleep", [str(tmp_path)], limit=0.5)
    assert not processes(tmp_path)


def test_an_interrupt_ends_all_ranks_as_a_notebook_s_stop_button_must(tmp_path):
    def interrupt() -> None:
        while not all((tmp_path / rank).exists() for rank in "01"):
            time.sleep(0.05)
        interrupt_main()

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        torchrun(2, "tests.serve.ranks_asleep", [str(tmp_path)], limit=100)
    assert not processes(tmp_path)


def processes(folder: Path) -> list[list[str]]:
    """The command lines of all processes that were told of a folder, whosoever children they are by now."""
    found = []
    for process in psutil.process_iter():
        try:
            found.append(process.cmdline())
        except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
            continue
    return [line for line in found if str(folder) in line]


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs, one for each rank")
def test_two_gpus_say_what_the_cpu_says_and_each_holds_half_of_the_cache():
    model, _ = load_courier()
    prompts = [[5, 6, 7, 8], list(range(20, 60))]
    found = generate_on_ranks(prompts, 2, model=model, max_new_tokens=8)  # saved, and loaded again, in fp32
    assert found.tokens == [greedy(model, ids, 8) for ids in prompts]
    assert found.bytes_per_token == [1024, 1024]


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
