"""The kernels as a backend: chosen with a reason, and an engine that runs on them unchanged."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from kvlab.compute import AttentionPlan, choose_backend, paged_attention
from kvlab.compute.triton_attention import paged_attention as triton_attention
from kvlab.errors import UsageError
from kvlab.serve.engine import Engine
from kvlab.serve.hf import PagedModel
from tests.kernels.running import DEVICE, INTERPRETED, Batch, close
from tests.serve.models import prompt, tiny

ORDERS = {
    "prefills first": [9, 5, 1, 1],
    "decoding first": [1, 1, 9, 5],
    "mixed, and one that waits": [1, 4, 0, 1, 7, 1],
    "all decoding": [1, 1, 1],
    "none decoding": [2, 3],
}


@pytest.mark.parametrize("counts", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("planned", [True, False])
def test_any_order_of_prefills_and_decoding_sequences_comes_back_in_its_own(counts, planned):
    lengths = [count + 3 * index for index, count in enumerate(counts)]
    batch = Batch(lengths, 8, key_dim=32, value_dim=24)
    query, start = batch.queries(counts, 4)
    arguments = (query, *batch.pools, batch.tables, start, batch.lengths)
    plan = AttentionPlan(batch.tables.cpu().numpy(), counts, lengths, 8, DEVICE) if planned else None
    for _ in range(2):  # two layers of one step
        found = triton_attention(*arguments, plan=plan, return_lse=True)
        for a, b in zip(found, paged_attention(*arguments, return_lse=True), strict=True):
            close(a, b)
    assert torch.equal(triton_attention(*arguments, plan=plan), found[0])


def test_options_reach_both_kernels():
    batch = Batch([40, 33], 8, key_dim=32, value_dim=32)
    query, start = batch.queries([5, 1], 4)
    arguments = (query, *batch.pools, batch.tables, start, batch.lengths)
    options = {"scale": 0.3, "window": 7, "softcap": 3.0, "sinks": torch.linspace(-1, 1, 4, device=DEVICE)}
    close(triton_attention(*arguments, **options), paged_attention(*arguments, **options))


def test_what_does_not_fit_is_refused_as_a_usage_error():
    batch = Batch([9], 4)
    query, start = batch.queries([1], 4)
    with pytest.raises(UsageError, match="at least 1 token, the one that looks, not 0"):
        triton_attention(query, *batch.pools, batch.tables, start, batch.lengths, window=0)


def tokens(model, prompts, checked=True):
    engine = Engine(model, 24, 4, token_budget=8, checked=checked, fill=float("nan"))
    found = [engine.submit(ids, 3) for ids in prompts]
    engine.run()
    return engine, [generation.tokens for generation in found]


@pytest.mark.parametrize("name", ["llama", "gpt_oss", "deepseek_v3"])
def test_an_engine_on_the_kernels_gives_the_tokens_of_one_on_torch(name, monkeypatch):
    model, prompts = tiny(name).to(DEVICE), [prompt(9), prompt(3)]
    monkeypatch.setenv("KVLAB_BACKEND", "torch")
    expected = tokens(model, prompts)[1]
    monkeypatch.setenv("KVLAB_BACKEND", "triton")
    engine, found = tokens(model, prompts)
    assert engine.paged.backend.name == "triton" and found == expected and all(len(ids) == 3 for ids in found)


if INTERPRETED:

    def test_on_a_cpu_torch_is_picked_and_says_how_to_have_the_interpreter(monkeypatch):
        monkeypatch.delenv("KVLAB_BACKEND", raising=False)
        chosen = choose_backend("cpu")
        assert chosen.name == "torch" and chosen.attention is paged_attention
        assert "needs an NVIDIA GPU" in chosen.why and "KVLAB_BACKEND=triton" in chosen.why

    def test_the_interpreter_runs_when_it_is_asked_for(monkeypatch):
        monkeypatch.delenv("KVLAB_BACKEND", raising=False)
        assert choose_backend("cpu", "triton").attention is triton_attention
        monkeypatch.setenv("KVLAB_BACKEND", "triton")
        assert choose_backend("cpu") == ("triton", "triton: asked for", triton_attention)

    def test_other_devices_are_refused_even_when_asked():
        with pytest.raises(UsageError, match="triton was asked for but cannot run on mps: it needs an NVIDIA GPU$"):
            choose_backend("mps", "triton")

    def test_a_model_in_bfloat16_is_refused_at_once(monkeypatch):
        monkeypatch.setenv("KVLAB_BACKEND", "triton")
        with pytest.raises(UsageError, match="interpreter computes bfloat16 wrongly: use float32 or float16"):
            PagedModel(tiny("llama", torch.bfloat16), 4, 4)
        assert PagedModel(tiny("llama", torch.float16), 4, 4).backend.name == "triton"

    def test_triton_that_was_imported_to_compile_says_what_to_do():
        code = "from kvlab.compute import choose_backend; choose_backend('cpu', 'triton')"
        environment = os.environ | {"TRITON_INTERPRET": "0"}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        assert "it needs an NVIDIA GPU, or TRITON_INTERPRET=1 before Triton is first imported" in done.stderr

else:

    def test_on_a_gpu_the_kernels_are_picked(monkeypatch):
        monkeypatch.delenv("KVLAB_BACKEND", raising=False)
        assert choose_backend("cuda").name == "triton"
