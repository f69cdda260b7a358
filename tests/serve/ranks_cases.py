"""What the tests of ranks run on every rank, in one start of the processes: `torchrun -m tests.serve.ranks_cases`."""

from __future__ import annotations

import copy
import functools
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from kvlab.models import load_courier
from kvlab.serve.engine import Engine
from kvlab.serve.hf_shards import shard_model
from kvlab.serve.hf_support import Unsupported
from kvlab.serve.link import Link
from kvlab.serve.lockstep import RankedEngine, follow
from kvlab.serve.policies import Policies, always_swap
from kvlab.serve.sampling import Sampling
from tests.serve.models import COMMON, prompt, tiny

FAMILIES = ["llama", "qwen2", "qwen3", "mistral", "gemma2", "gemma3", "phi", "smollm3"]
UNCUT = ["gpt2", "deepseek_v3", "qwen3_moe"]
PROMPTS = [prompt(length, seed) for seed, length in enumerate([1, 3, 4, 5, 8, 9, 13, 2])]
SHARED = [prompt(13, 7) + prompt(length, 9) for length in (1, 2, 6, 11)]
NEW = 8
TIGHT = 12  # blocks of 4 slots, too few for all eight prompts at once

ENGINES: dict[str, dict[str, Any]] = {
    "pressed": {"token_budget": 7},
    "swapped": {"host_blocks": 9, "policies": Policies(swap=always_swap), "watermark": 0.0},
    "hash": {"prefix": "hash"},
    "radix": {"prefix": "radix"},
    "fp8": {"kv_dtype": "fp8", "scales": "token_head", "host_blocks": 9},
    "fp8 heads": {"kv_dtype": "fp8", "scales": (torch.tensor([0.01, 0.02]), torch.tensor([0.005, 0.04]))},
}


def llama_of(kv_heads: int):
    """A random Llama of 4 query heads and so many KV heads; the same weights every time."""
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(LlamaConfig(**{**COMMON, "num_key_value_heads": kv_heads}))
    model.generation_config.eos_token_id = None
    return model.eval()


def fresh(name: str):
    """A model that may be cut, by the name of a case."""
    if name == "courier":
        return load_courier()[0]
    return llama_of(int(name)) if name.isdigit() else copy.deepcopy(tiny(name))


def ask(engine: Engine, which: str) -> list[Any]:
    """Requests of one kind, submitted; `said` gives what came of them."""
    if which == "samples":
        settings = Sampling(1.0, top_p=0.9, seed=5)
        return [engine.sample(ids, 3, NEW, settings) for ids in PROMPTS[3:6]]
    if which == "beams":
        return [engine.beam(ids, 3, NEW) for ids in PROMPTS[3:6]]
    if which == "courier":
        tokenizer = load_courier()[1]
        texts = ["Where is my order?", "Can I still cancel it?", "Order 979 from Tokyo Corner\nStatus: on the way"]
        return [engine.submit(tokenizer(text)["input_ids"], 24) for text in texts]
    return [engine.submit(ids, NEW) for ids in (SHARED if which in ("hash", "radix") else PROMPTS)]


def said(asked: list[Any]) -> list[Any]:
    """The tokens of each answer, branch or beam."""
    found = []
    for request in asked:
        parts = getattr(request, "hypotheses", None) or getattr(request, "samples", None)
        found += [part.tokens for part in parts] if parts else [request.tokens]
    return found


def serve(make: Callable[..., Engine], which: str) -> tuple[list[Any], Engine]:
    """One case run to its end: `make(num_blocks, block_size, **options)` gives the engine."""
    blocks = 60 if which in ("samples", "beams") else TIGHT
    engine = make(blocks, 4, checked=True, fill=math.nan, **ENGINES.get(which, {}))
    asked = []
    for _ in range(2 if which in ("hash", "radix") else 1):  # the second time finds what the first has left
        asked += ask(engine, which)
        engine.run()
    return said(asked), engine


def cases(ranks: int) -> list[tuple[str, str]]:
    """Which models, and which load each serves; fewer on four ranks, where a process more is a core less for each."""
    names = [*FAMILIES, "1", "4"] if ranks == 2 else ["llama", "qwen3", "1"]
    loads = ["swapped", "hash", "radix", "samples", "beams"] if ranks == 2 else ["swapped", "hash", "samples"]
    loads += ["fp8", "fp8 heads"]
    return [*((name, "pressed") for name in names), *(("llama", which) for which in loads), ("courier", "courier")]


def run(link: Link) -> dict[str, Any]:
    """Every case on all ranks; what rank 0 knows of it."""
    known: dict[str, Any] = {}
    for name, which in cases(link.ranks):
        model = fresh(name)
        shard = shard_model(model, link.rank, link.ranks, link.add)
        entry: dict[str, Any] = {}
        if link.rank == 0:
            entry["said"], engine = serve(functools.partial(RankedEngine, model, link), which)
            engine.close()
            cache, stats = engine.paged.cache, engine.stats()
            entry["stats"] = {name: value for name, value in stats._asdict().items() if not name.endswith("seconds")}
        else:
            cache = follow(model, link).cache
        weights = sum(parameter.numel() for parameter in model.parameters())
        entry["held"] = link.collect((cache.bytes_per_token, cache.num_blocks, shard.heads, shard.kv_heads, weights))
        known[f"{name} {which}"] = entry
    known["refused"] = link.collect([refusal(name, link) for name in UNCUT])
    return known


def refusal(name: str, link: Link) -> str:
    """What a rank says to a model that cannot be cut."""
    try:
        shard_model(tiny(name), link.rank, link.ranks, link.add)
    except Unsupported as error:
        return str(error)
    return ""


def main(path: str) -> None:
    """One rank."""
    link = Link(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), torch.device("cpu"), 60.0)
    known = run(link)
    if link.rank == 0:
        Path(path).write_text(json.dumps(known), encoding="utf-8")
    link.close()


if __name__ == "__main__":
    main(sys.argv[1])
