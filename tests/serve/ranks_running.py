"""The cases of `ranks_cases` run by torchrun, and what one process has to say to each."""

from __future__ import annotations

import functools
import json
import socket
import tempfile
from pathlib import Path
from typing import Any

import torch

from kvlab.memory import KVShape, kv_heads_per_rank, rank_shape, shard_heads
from kvlab.serve.engine import Engine
from kvlab.serve.ranks_launch import torchrun
from tests.serve.models import greedy
from tests.serve.ranks_cases import NEW, PROMPTS, SHARED, fresh, serve


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@functools.cache
def on_ranks(ranks: int) -> dict[str, Any]:
    """What every case came to on so many ranks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "known.json"
        printed = torchrun(ranks, "tests.serve.ranks_cases", [str(path)], limit=150)
        assert path.exists(), printed
        return json.loads(path.read_text(encoding="utf-8"))


def alone(name: str, which: str) -> list[list[int]]:
    """The same on one rank with the whole model: `generate` where it can do it, else the engine of one process."""
    model = fresh(name)
    if which in ("pressed", "swapped"):
        return [greedy(model, ids, NEW) for ids in PROMPTS]
    if which in ("hash", "radix"):
        return [greedy(model, ids, NEW) for ids in SHARED] * 2
    return serve(functools.partial(Engine, model), which)[0]


def margin(name: str) -> float:
    """How far the best token's logit lies above the second best, at least, in all greedy answers of a model."""
    model, least = fresh(name), float("inf")
    for ids in PROMPTS:
        given = torch.tensor([[*ids, *greedy(model, ids, NEW)[:-1]]])
        with torch.inference_mode():
            best = model(given).logits[0, len(ids) - 1 :].topk(2).values
        least = min(least, float((best[:, 0] - best[:, 1]).min()))
    return least


def refuse_wrong_shares(name: str, which: str, held: list[Any], ranks: int) -> None:
    """Each rank has its heads, their share of the bytes, replicas included, and fewer weights than the whole model."""
    model = fresh(name)
    config = model.config
    shape = KVShape.from_config(config, bytes_per_number=1 if "fp8" in which else 4)
    shards = shard_heads(config.num_attention_heads, config.num_key_value_heads, ranks)
    replicas = kv_heads_per_rank(config.num_key_value_heads, ranks)[1]
    assert [(heads, kv_heads) for _, _, heads, kv_heads, _ in held] == [shard[:2] for shard in shards]
    bytes_per_token = [each[0] for each in held]
    share = rank_shape(shape, ranks)
    scales = 2 * 4 * share.layers * share.kv_heads if which == "fp8" else 0  # of every key and value of its own
    assert bytes_per_token == [share.bytes_per_token + scales] * ranks
    assert ranks * share.bytes_per_token == replicas * shape.bytes_per_token
    assert len({each[1] for each in held}) == 1, "the same blocks on every rank"
    assert all(each[4] < sum(parameter.numel() for parameter in model.parameters()) for each in held)
