"""The scheduler's three decisions as plain functions of plain data, for lab 08; `Scheduler` makes the same ones.

After Kwon et al. 2023 (arXiv 2309.06180), section 4.5, and Agrawal et al. 2024 (arXiv 2403.02310).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kvlab.errors import UsageError
from kvlab.memory import blocks_needed

STATES = ("decoding", "prompt", "waiting")
"""In this order a step's tokens are given out."""


def admit(waiting: Sequence[tuple[int, int]], free: int, spare: int, block_size: int, running: int) -> int:
    """How many of `waiting`, from its head, are admitted at once.

    waiting: `(prompt, answered)` tokens of each, the oldest first; who was preempted has answered some already. All of
    them must fit. free: blocks nobody holds. spare: blocks that must stay free afterwards (the watermark), unless
    nobody runs. running: requests that run already. The first that does not fit ends it: nobody goes past it.
    """
    for count, (prompt, answered) in enumerate(waiting):
        free -= blocks_needed(prompt + answered, block_size)
        if free < (spare if running + count else 0):
            return count
    return len(waiting)


def schedule_step(jobs: Sequence[tuple[Hashable, str, int]], budget: int) -> dict[Hashable, int]:
    """Who runs how many tokens in the next step: `{name: tokens}`, only those that run any, `budget` in all.

    jobs: `(name, state, left)` in order of arrival. state: "decoding" (its `left` is 1), "prompt" (under way, `left`
    tokens not yet run) or "waiting" (the same, none run so far). Decoding goes first, then prompts under way, then who
    waits; a prompt that is too long for what is left of the budget runs a chunk. Another state: `UsageError`.
    """
    odd = [state for _, state, _ in jobs if state not in STATES]
    if odd:
        raise UsageError(f"a state is one of {', '.join(STATES)}, not {odd[0]!r}")
    step = {}
    for name, _, left in sorted(jobs, key=lambda job: STATES.index(job[1])):
        if count := min(left, budget):
            step[name] = count
            budget -= count
    return step


def choose_victim(running: Sequence[tuple[Hashable, int, int]], asks: Hashable) -> Hashable | None:
    """The name of who must leave so that `asks` gets a block: the last in order, whoever asks (I11). Alone: None.

    running: `(name, priority, arrival)` in any order; the smaller a number, the sooner it is served, priority first.
    """
    if len(running) < 2:
        return None
    return max(running, key=lambda job: job[1:])[0]
