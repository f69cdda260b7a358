"""What lies beyond basic paging, as things to run: each row of the lesson's section is a call that a laptop makes.

The rows say what is shown and where its parts are; `run()` gives text that is the same each time, and its numbers.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kvlab.memory import PRESETS, BlockManager, BlockPool, lesson_trace, release_window
from kvlab.memory.virtual_replay import virtual_table

from .system_runs import Machine, chat_trace
from .systems import outcome_table, side_by_side


class Shown(NamedTuple):
    """What a row showed: text to read, and the numbers in it by name."""

    text: str
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Row:
    """One row. says: the lesson's claim, in a sentence. parts: the names to read on with."""

    name: str
    says: str
    parts: tuple[str, ...]
    run: Callable[[], Shown]


def show_systems(chats: int = 16) -> Shown:
    """The systems side by side, on `chats` chats of four turns."""
    found = side_by_side(chat_trace(chats), Machine(capacity=6144))
    rates = {name: outcome.hit_rate for name, outcome in found.items()}
    return Shown(outcome_table(found), rates)


def show_fp8(requests: int = 4, new: int = 12) -> Shown:
    """Courier on pools of 8 bits beside pools of 32: bytes, and tokens that came out differently."""
    from kvlab.models import load_courier

    model, tokenizer = load_courier()
    prompts = _orders(tokenizer, requests)
    exact, wide = _answers(model, prompts, new)
    numbers: dict[str, float] = {"tokens": len(exact)}
    for name, scales in (
        ("a scale for each token and head", "token_head"),
        ("one far too small scale", (0.0005, 0.0005)),
    ):
        found, narrow = _answers(model, prompts, new, kv_dtype="fp8", scales=scales)
        numbers["times"] = wide / narrow / 2  # courier computes in 32 bits here; bf16 has 16
        numbers[name] = sum(one != other for one, other in zip(exact, found, strict=True))
    lines = [f"FP8 keys and values: {numbers['times']:.0f} times the tokens of bf16 in the same bytes"]
    lines += [f"{name}: {numbers[name]} of {len(exact)} tokens change" for name in list(numbers)[1:] if name != "times"]
    return Shown("\n".join(lines), numbers)


def _answers(model: Any, prompts: list[list[int]], new: int, **options: Any) -> tuple[list[int], int]:
    """All tokens of the answers, one after the other, and the bytes of the pools without their scales."""
    from .engine import Engine

    engine = Engine(model, 64, **options)
    asked = [engine.submit(prompt, new, eos=()) for prompt in prompts]
    engine.run()
    pools = [*engine.paged.cache.keys.values(), *engine.paged.cache.values.values()]
    return [token for one in asked for token in one.tokens], sum(pool.numel() * pool.element_size() for pool in pools)


def show_tiers(chats: int = 4) -> Shown:
    """Chats whose second turn comes to an engine that was started anew: computed again, or found on disk."""
    from kvlab.memory import DiskTier
    from kvlab.models import load_courier

    model, tokenizer = load_courier()
    said = _orders(tokenizer, chats)
    with tempfile.TemporaryDirectory() as folder:
        first, _ = _turn(model, said, [DiskTier(folder, 256)])
        asked = [[*prompt, *answer, *prompt[:5]] for prompt, answer in zip(said, first, strict=True)]
        alone, computed = _turn(model, asked, [])
        found, loaded = _turn(model, asked, [DiskTier(folder, 256)])
    same = "the same" if alone == found else "not the same"
    lines = [f"second turns after a restart: {computed:,} tokens computed without the disk, {loaded:,} with it"]
    return Shown("\n".join([*lines, f"answers are {same} (I12)"]), {"alone": computed, "disk": loaded})


def _turn(model: Any, prompts: list[list[int]], tiers: list[Any]) -> tuple[list[list[int]], int]:
    """The answers of one engine to `prompts`, one after the other, and the tokens that it computed."""
    from .engine import Engine

    engine, answers = Engine(model, 24, prefix="hash", tiers=tiers), []
    for prompt in prompts:
        asked = engine.submit(prompt, 8, eos=())
        engine.run()
        answers.append(asked.tokens)
    engine.close()
    return answers, engine.projected_tokens


def show_virtual(requests: int = 60) -> Shown:
    """Contiguous addresses with pages on demand: how much of the mapped memory holds tokens, by the size of a page."""
    trace = lesson_trace()
    rows = virtual_table(type(trace)(trace.name, trace.requests[:requests]))
    lines = [f"{row.policy:24} {row.share_held:6.1%} holds tokens" for row in rows]
    return Shown("\n".join(lines), {row.policy: row.share_held for row in rows})


def show_smaller(context: int = 32_768) -> Shown:
    """What a token costs with fewer heads, latents and windows, and the blocks that a window gives back."""
    names = ("Llama-2-7B", "Llama-3-8B", "Falcon-7B", "DeepSeek-V3", "Mistral-7B-v0.1", "Gemma-3-4B")
    sizes = {name: PRESETS[name].bytes_at(context) / context / 1024 for name in names}
    lines = [f"{name:16} {size:8.1f} KiB a token at {context:,} tokens" for name, size in sizes.items()]
    pool = BlockPool(512, null_block=True)
    manager = BlockManager(pool, 16)
    manager.admit("long", 4096)
    table, null = manager.table("long"), pool.null or 0
    gone = release_window(table, 4096, 1024, 16, pool, null)
    lines.append(f"a window of 1,024 gives back {gone} of the {len(table)} blocks of 4,096 tokens")
    return Shown("\n".join(lines), sizes | {"given back": gone})


ROWS = (
    Row(
        "who does it how",
        "Each system answers the same questions differently, and the same trace shows what that is worth.",
        ("kvlab.serve.systems", "kvlab.view.systems_side_by_side"),
        show_systems,
    ),
    Row(
        "FP8",
        "FP8 keys and values halve the bytes of a token, at a small cost in quality.",
        ("kvlab.compute.fp8", "kvlab.serve.Engine"),
        show_fp8,
    ),
    Row(
        "offloading and tiers",
        "Blocks of idle chats are kept on the host or on disk, and come back with the next turn.",
        ("kvlab.memory.HostTier", "kvlab.memory.DiskTier"),
        show_tiers,
    ),
    Row(
        "vAttention",
        "Addresses stay contiguous and pages come on demand; the price is how large a page is.",
        ("kvlab.memory.VirtualCache", "kvlab.compute.virtual"),
        show_virtual,
    ),
    Row(
        "GQA, MLA and windows",
        "Fewer KV heads, one latent for all of them, or only the last tokens: the cache itself shrinks.",
        ("kvlab.memory.KVShape", "kvlab.memory.release_window", "kvlab.compute.page_latents"),
        show_smaller,
    ),
)


def beyond_paging() -> Mapping[str, Row]:
    """Every row of the lesson's "Beyond basic paging" by name: `beyond_paging()["FP8"].run()`."""
    return {row.name: row for row in ROWS}


def _orders(tokenizer: Any, count: int) -> list[list[int]]:
    """Prompts that courier knows how to answer, of 100 tokens and more, no two of which begin alike."""
    from kvlab.models import EXAMPLE_ORDER

    draw = random.Random(0)
    orders = [EXAMPLE_ORDER.replace("You are", f"Shift {draw.randrange(1000)}. You are") for _ in range(count)]
    return [tokenizer(order)["input_ids"][:120] for order in orders]
