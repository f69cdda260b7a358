"""A soak: thousands of requests on courier, in a pool that is far too small, and every answer compared.

    python -m tests.serve.soak [--requests 10000] [--seed 0]

Requests come in bursts, with priorities, as single answers, samples and beam searches; some are aborted, in any state.
The pool holds a few of them, the host a few more, and prompts share prefixes, so that everything that can happen to a
block does. What each should say is known from one-by-one `generate()` and from an engine with blocks in plenty.
"""

from __future__ import annotations

import argparse
import random
from typing import Any, NamedTuple

import psutil
import torch

from kvlab.models import load_courier
from kvlab.serve.engine import Engine
from kvlab.serve.policies import Policies, by_priority
from kvlab.serve.sampling import Sampling

SYSTEM = "You are Courier, the support assistant of a food delivery app. Order 12 from Tokyo Corner. "
QUESTIONS = [
    "Where is my order?",
    "Who brings it?",
    "I want a refund for the soup.",
    "Is there soy in the miso soup?",
    "When will it be here, and what did I pay?",
    "Thanks",
]
SAMPLED = Sampling(temperature=0.9, seed=4)
NEW, WIDTH = 20, 2


class Soak(NamedTuple):
    """What a soak saw."""

    requests: int
    steps: int
    preemptions: int
    swaps: int
    found: int
    grown_bytes: int


class Answers:
    """What each prompt should be answered: greedily by `generate`, and samples and beams with blocks in plenty."""

    def __init__(self, model: Any, prompts: list[list[int]]) -> None:
        self.greedy = []
        for ids in prompts:
            given = torch.tensor([ids])
            options = {"max_new_tokens": NEW, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
            found = model.generate(given, attention_mask=torch.ones_like(given), **options)
            self.greedy.append(found[0, len(ids) :].tolist())
        calm = Engine(model, 400, 8, host_blocks=4)
        samples = [calm.sample(ids, WIDTH, NEW, SAMPLED, eos=()) for ids in prompts]
        beams = [calm.beam(ids, WIDTH, NEW, eos=()) for ids in prompts]
        calm.run()
        self.samples = [[one.tokens for one in group.samples] for group in samples]
        self.beams = [search.hypotheses[0].tokens for search in beams]

    def check(self, kind: str, number: int, length: int, request: Any) -> None:
        """Raise if a finished request says something else."""
        if kind == "submit":
            said, wanted = [request.tokens], [self.greedy[number][:length]]
        elif kind == "sample":
            said, wanted = [one.tokens for one in request.samples], [one[:length] for one in self.samples[number]]
        else:
            said, wanted = [request.hypotheses[0].tokens], [self.beams[number]]
        if said != wanted:
            raise AssertionError(f"{kind} of prompt {number}: {said} instead of {wanted}")


def soak(requests: int, seed: int = 0, checked: bool = False) -> Soak:
    """Serve so many requests; raises if an answer is wrong, a block is lost, or nothing goes on."""
    draw = random.Random(seed)
    model, tokenizer = load_courier()
    system = tokenizer(SYSTEM)["input_ids"]
    prompts = [[*system[: draw.choice([9, 20, len(system)])], *tokenizer(text)["input_ids"]] for text in QUESTIONS]
    answers = Answers(model, prompts)
    policies = Policies(order=by_priority, swap=lambda tokens, blocks: tokens % 3 > 0)
    serving = Engine(
        model, 20, 8, host_blocks=9, prefix="hash", token_budget=32, max_running=12, checked=checked, policies=policies
    )
    live: list[tuple[str, int, int, Any]] = []
    process, settled, sent, idle = psutil.Process(), 0, 0, 0
    while sent < requests or serving.has_work:
        for _ in range(draw.choice([0, 0, 0, 1, 4]) if sent < requests and len(serving.waiting) < 30 else 0):
            live.append(_ask(serving, draw, prompts))
            sent += 1
        if live and draw.random() < 0.02:
            serving.abort(draw.choice(live)[3])
        before = serving.steps
        serving.step()
        idle = idle + 1 if serving.steps == before and serving.has_work else 0
        if idle > 1:
            raise AssertionError("there is work, and no step does any")
        live = [entry for entry in live if not _ended(answers, *entry)]
        if sent > requests // 4 and not settled:
            settled = process.memory_info().rss
    stats = serving.stats()
    if stats.blocks_free != stats.blocks or stats.host_blocks_free != stats.host_blocks or len(serving.manager):
        raise AssertionError(f"blocks are lost: {stats}")
    grown = process.memory_info().rss - settled
    return Soak(sent, stats.steps, stats.preemptions, stats.swaps, stats.prefix_hits, grown)


def _ask(serving: Engine, draw: random.Random, prompts: list[list[int]]) -> tuple[str, int, int, Any]:
    number, length = draw.randrange(len(prompts)), draw.randint(1, NEW)
    options = {"eos": (), "priority": draw.randrange(3)}
    kind = draw.choice(["submit"] * 6 + ["sample", "beam"])
    if kind == "submit":
        return kind, number, length, serving.submit(prompts[number], length, **options)
    if kind == "sample":
        return kind, number, length, serving.sample(prompts[number], WIDTH, length, SAMPLED, **options)
    return kind, number, NEW, serving.beam(prompts[number], WIDTH, NEW, **options)


def _ended(answers: Answers, kind: str, number: int, length: int, request: Any) -> bool:
    if not request.finished:
        return False
    reasons = [one.reason for one in request.samples] if kind == "sample" else [request.reason]
    if "aborted" not in reasons:
        answers.check(kind, number, length, request)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(soak(options.requests, options.seed))


if __name__ == "__main__":
    main()
