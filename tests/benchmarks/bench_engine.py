"""What the engine makes of one load on the CPU, beside the ways transformers has of serving it.

    python -m tests.benchmarks.bench_engine [--rounds 1] [--requests 64] [--loads mixed] [--json PATH]

Two loads of the course's performance page, on its tiny random Llama, in fp32 on one thread, greedy, EOS ignored:
*mixed* (prompts of 50 to 400 tokens; answers mostly 8 to 40, a fifth of them 120 to 200) and *decode-heavy* (prompts
of 8 to 32, same answers). Everybody's tokens are compared with those of one-by-one `generate()`. Figures are output
tokens per CPU second; the systems take turns within each round, and only ratios within one run mean anything. "linear
layers alone" runs nothing but the model's linear layers on batches of the very sizes that our engine had: no engine
on these layers can be faster with that schedule.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import process_time, thread_time
from typing import NamedTuple

import torch
from transformers import ContinuousBatchingConfig, GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.utils import logging as hf_logging

from kvlab.serve.engine import Engine
from tests.benchmarks import command

VOCAB, NUM_BLOCKS, BLOCK_SIZE, RUNNING, BUDGET = 2048, 2048, 16, 64, 512
LOADS = {"mixed": (50, 400), "decode-heavy": (8, 32)}  # name -> shortest and longest prompt


class Ask(NamedTuple):
    """One request: a prompt, and how many tokens it gets."""

    prompt: list[int]
    answer: int


class Outcome(NamedTuple):
    """What a system gave: each request's tokens, and the CPU seconds it took."""

    tokens: list[list[int]]
    seconds: float


def load(count: int, low: int, high: int, seed: int = 5) -> list[Ask]:
    """`count` requests with prompts of `low` to `high` tokens."""
    draw = random.Random(seed)
    prompts = [[draw.randrange(VOCAB) for _ in range(draw.randint(low, high))] for _ in range(count)]
    return [Ask(ids, draw.randint(8, 40) if draw.random() < 0.8 else draw.randint(120, 200)) for ids in prompts]


def tiny_llama() -> LlamaForCausalLM:
    """4 layers, hidden 256, 8 heads, 2 KV heads, seeded; it never ends by itself."""
    torch.manual_seed(0)
    sizes = dict(
        hidden_size=256, intermediate_size=704, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2
    )
    model = LlamaForCausalLM(LlamaConfig(**sizes, head_dim=32, vocab_size=VOCAB, max_position_embeddings=1024)).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model


def static(model: LlamaForCausalLM, asks: list[Ask], size: int, by_length: bool = False) -> Outcome:
    """`generate()` on batches of `size`, left-padded, each run to its longest answer."""
    order = (
        sorted(range(len(asks)), key=lambda i: (asks[i].answer, len(asks[i].prompt)))
        if by_length
        else list(range(len(asks)))
    )
    tokens: list[list[int]] = [[] for _ in asks]
    began = process_time()
    for at in range(0, len(order), size):
        batch = order[at : at + size]
        width = max(len(asks[i].prompt) for i in batch)
        ids = torch.tensor([[0] * (width - len(asks[i].prompt)) + asks[i].prompt for i in batch])
        mask = torch.tensor([[0] * (width - len(asks[i].prompt)) + [1] * len(asks[i].prompt) for i in batch])
        longest = max(asks[i].answer for i in batch)
        found = model.generate(ids, attention_mask=mask, max_new_tokens=longest, do_sample=False)[:, width:].tolist()
        for i, answer in zip(batch, found, strict=True):
            tokens[i] = answer[: asks[i].answer]
    return Outcome(tokens, process_time() - began)


def generate_batch(model: LlamaForCausalLM, asks: list[Ask], running: int) -> Outcome:
    """transformers' continuous batching, through its manager, which takes a length for each request."""
    config = GenerationConfig(max_new_tokens=200, do_sample=False, eos_token_id=-1, pad_token_id=0)
    sizes = ContinuousBatchingConfig(
        page_size=BLOCK_SIZE, num_blocks=NUM_BLOCKS, max_batch_tokens=BUDGET, max_requests_per_batch=running
    )
    tokens: list[list[int]] = [[] for _ in asks]
    began = process_time()
    with model.continuous_batching_context_manager(
        generation_config=config, continuous_batching_config=sizes
    ) as manager:
        for i, ask in enumerate(asks):
            manager.add_request(ask.prompt, request_id=str(i), max_new_tokens=ask.answer)
        left = len(asks)
        while left:
            result = manager.get_result(timeout=60)
            if result is None:
                raise RuntimeError("generate_batch stopped answering")
            if result.is_finished():
                tokens[int(result.request_id)] = list(result.generated_tokens)
                left -= 1
    return Outcome(tokens, process_time() - began)


class Ours:
    """The engine; it also remembers the size of each step, for the ceiling."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        self.engine = Engine(model, NUM_BLOCKS, BLOCK_SIZE, max_running=RUNNING, token_budget=BUDGET)
        self.steps: list[tuple[int, int]] = []
        forward = self.engine.paged.forward

        def remember(batch):
            self.steps.append((batch.plan.num_tokens, len(batch.logit_rows)))
            return forward(batch)

        self.engine.paged.forward = remember  # type: ignore[method-assign]

    def __call__(self, asks: list[Ask]) -> Outcome:
        self.steps.clear()
        began = process_time()
        generations = [self.engine.submit(ask.prompt, ask.answer) for ask in asks]
        self.engine.run()
        return Outcome([generation.tokens for generation in generations], process_time() - began)

    @property
    def planning_share(self) -> float:
        return self.engine.planning_seconds / self.engine.step_seconds


def linear_layers_alone(model: LlamaForCausalLM, steps: list[tuple[int, int]]) -> float:
    """CPU seconds of the linear layers by themselves, on inputs of the sizes of `steps`: (tokens, rows with logits)."""
    layers = [part for part in model.model.modules() if isinstance(part, torch.nn.Linear)]
    began = thread_time()
    with torch.inference_mode():
        for tokens, rows in steps:
            inputs = {layer.in_features: torch.ones(tokens, layer.in_features) for layer in layers}
            for layer in layers:
                layer(inputs[layer.in_features])
            model.lm_head(torch.ones(rows, model.lm_head.in_features))
    return thread_time() - began


@contextmanager
def one_thread() -> Iterator[None]:
    """torch on one thread, and transformers silent; both as before afterwards."""
    threads, level = torch.get_num_threads(), hf_logging.get_verbosity()
    torch.set_num_threads(1)
    hf_logging.set_verbosity_error()
    logging.getLogger("ContinuousBatchingLogger").setLevel(logging.ERROR)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        hf_logging.set_verbosity(level)


def measure(asks: list[Ask], rounds: int) -> tuple[dict[str, float], dict[str, int], float]:
    """Output tokens per CPU second of each system, how many requests have the right tokens, our share of planning."""
    model = tiny_llama()
    ours = Ours(model)
    systems: dict[str, Callable[[], Outcome]] = {
        "one by one": lambda: static(model, asks, 1),
        "static batches of 16": lambda: static(model, asks, 16),
        "static batches of 64": lambda: static(model, asks, 64),
        "sorted by length, 16": lambda: static(model, asks, 16, by_length=True),
        "generate_batch, 16": lambda: generate_batch(model, asks, 16),
        "generate_batch, 64": lambda: generate_batch(model, asks, 64),
        "kvlab": lambda: ours(asks),
    }
    ours(asks[:8])  # warm
    seconds: dict[str, list[float]] = {name: [] for name in [*systems, "linear layers alone"]}
    right: dict[str, int] = {}
    expected: list[list[int]] = []
    for _ in range(rounds):
        for name, system in systems.items():
            outcome = system()
            expected = expected or outcome.tokens
            seconds[name].append(outcome.seconds)
            right[name] = sum(a == b for a, b in zip(outcome.tokens, expected, strict=True))
        seconds["linear layers alone"].append(linear_layers_alone(model, ours.steps))
    total = sum(ask.answer for ask in asks)
    return {name: total / median(found) for name, found in seconds.items()}, right, ours.planning_share


def report(name: str, asks: list[Ask], rounds: int) -> dict[str, float]:
    """Measure, print a table of one load, and return the ratios that matter."""
    rates, right, planning = measure(asks, rounds)
    prompts, answers = sum(len(ask.prompt) for ask in asks), sum(ask.answer for ask in asks)
    print(f"\n{name}: {len(asks)} requests, {prompts} prompt tokens, {answers} output tokens")
    print(f"{'':24}{'tokens/s':>10}{'kvlab is':>12}{'same tokens':>14}")
    for system, rate in rates.items():
        same = f"{right[system]} of {len(asks)}" if system in right else ""
        print(f"{system:24}{rate:10.0f}{rates['kvlab'] / rate:11.2f}x{same:>14}")
    ratios = {
        "over generate_batch": rates["kvlab"] / max(rates["generate_batch, 16"], rates["generate_batch, 64"]),
        "over static batches": rates["kvlab"] / max(rates["static batches of 16"], rates["static batches of 64"]),
        "over one by one": rates["kvlab"] / rates["one by one"],
        "share of linear layers": rates["kvlab"] / rates["linear layers alone"],
        "share of planning": planning,
        "requests with the same tokens": min(right.values()) / len(asks),
    }
    print("  ".join(f"{key} {value:.2f}" for key, value in ratios.items()))
    return ratios


def main(arguments: list[str] | None = None) -> None:
    parser = command.parser(__doc__, rounds=1, requests=64)
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS))
    options = parser.parse_args(arguments)
    with one_thread():
        ratios = {
            name: report(name, load(options.requests, *LOADS[name]), options.rounds) for name in options.loads
        }
    command.keep(ratios, options.json)


if __name__ == "__main__":
    main()
