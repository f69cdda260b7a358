"""One load served in different ways: static batches beside an engine, on a real model and by what a step costs.

A static batch is what servers ran before continuous batching (Yu et al., OSDI 2022): prompts are padded to the longest,
everybody waits until the longest answer has ended, and nobody joins meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time
from typing import Any, NamedTuple

from kvlab.errors import UsageError
from kvlab.memory import Trace

from .costmodel import PICOSECONDS, StepCost


class Run(NamedTuple):
    """How a load was served.

    tokens: each request's answer, its end included. computed: tokens that went through the model, padding included.
    peak: the most requests at once. held: tokens of requests under way at the fullest moment; a token that several
    share counts for each of them. seconds: of processor time.
    """

    tokens: list[list[int]]
    computed: int
    steps: int
    peak: int
    held: int
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Tokens of answers for each second of processor time."""
        return sum(map(len, self.tokens)) / max(self.seconds, 1e-9)


def static_tokens(batch: Sequence[tuple[int, int]]) -> int:
    """Tokens that a static batch computes. batch: (prompt, answer) tokens of each request.

    Every row is as long as the longest prompt, and runs until the longest answer has ended. An answer's last token is
    not computed: nothing follows it. No request: 0.
    """
    if not batch:
        return 0
    return len(batch) * (max(prompt for prompt, _ in batch) + max(answer for _, answer in batch) - 1)


def serve_with(engine: Any, prompts: Sequence[Sequence[int]], most: int) -> Run:
    """Serve `prompts` with an engine that has nothing else to do, with answers of at most `most` tokens, greedily."""
    before, began = engine.stats(), process_time()
    asked = [engine.submit(prompt, most) for prompt in prompts]
    peak = held = 0
    while engine.has_work:
        engine.step()
        running = [one for one in asked if one.state == "running"]
        peak, held = max(peak, len(running)), max(held, sum(one.length for one in running))
    seconds, after = process_time() - began, engine.stats()
    computed, steps = after.computed_tokens - before.computed_tokens, after.steps - before.steps
    return Run([one.tokens for one in asked], computed, steps, peak, held, seconds)


def serve_in_batches(model: Any, prompts: Sequence[Sequence[int]], size: int, most: int) -> Run:
    """The same by `model.generate` in static batches of `size`, in the order they come; 1 is one by one."""
    import torch

    ends, pad = _ends(model), model.generation_config.pad_token_id or 0
    tokens: list[list[int]] = []
    computed = steps = held = 0
    began = process_time()
    for batch in _batches(prompts, size):
        width = max(map(len, batch))
        rows = torch.tensor([[pad] * (width - len(prompt)) + list(prompt) for prompt in batch])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in batch])
        with torch.inference_mode():
            found = model.generate(rows, attention_mask=mask, max_new_tokens=most, do_sample=False)
        answers = [_until(answer, ends) for answer in found[:, width:].tolist()]
        lengths = [(len(prompt), len(answer)) for prompt, answer in zip(batch, answers, strict=True)]
        computed += static_tokens(lengths)
        steps += max(answer for _, answer in lengths)
        held = max(held, sum(map(sum, lengths)))
        tokens += answers
    return Run(tokens, computed, steps, min(size, len(prompts)), held, process_time() - began)


def static_seconds(trace: Trace, size: int, cost: StepCost) -> float:
    """Simulated seconds in which static batches of `size` serve `trace` at the cost `cost`; all are there at once."""
    spent = 0
    for batch in _batches(list(trace), size):
        rows, width = len(batch), max(request.prompt for request in batch)
        spent += cost.step(rows * width, rows * width, rows * width * (width + 1) // 2)
        for step in range(1, max(request.answer for request in batch)):
            spent += cost.step(rows, rows * (width + step), rows * (width + step))
    return spent / PICOSECONDS


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    if size < 1:
        raise UsageError(f"a batch has at least 1 request, not {size}")
    return (items[at : at + size] for at in range(0, len(items), size))


def _ends(model: Any) -> set[int]:
    ends = model.generation_config.eos_token_id
    return set(ends) if isinstance(ends, list) else {ends}


def _until(answer: list[int], ends: set[int]) -> list[int]:
    """An answer up to its end, without what fills its row up."""
    last = next((place for place, token in enumerate(answer) if token in ends), len(answer) - 1)
    return answer[: last + 1]
