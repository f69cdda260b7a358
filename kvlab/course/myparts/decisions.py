"""The scheduler with the decisions of lab 08: who begins, how many tokens each runs, who must leave, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kvlab.course.myparts.manager import OwnManager
from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.wording import said
from kvlab.course.shorten import show
from kvlab.errors import OutOfBlocks
from kvlab.memory.swap import SwapPlan, swap_plan
from kvlab.serve.costmodel import HARDWARE, LLAMA_8B, Hardware, ModelSize
from kvlab.serve.ordering import LongestPrefixFirst
from kvlab.serve.plan import Plan
from kvlab.serve.policies import Cheaper, Policies, always_swap, by_priority
from kvlab.serve.scheduler import Scheduler
from kvlab.serve.stores import PagedStore

_SHOWN = 8  # of those who wait, so many are shown to `admit` at once


class OwnStore(PagedStore):
    """A `PagedStore` that lets a request in if `admit` says so. queue: who waits behind the one that is next."""

    manager: OwnManager

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.queue: list[tuple[int, int]] = []
        self.running = 0

    def admit(self, job: Any, spare: int) -> int:
        """As `PagedStore.admit`. What the job finds in blocks that others hold needs no room: it is not counted."""
        parts = self.manager.parts
        if "admit" in parts.mine:
            found = self.reuse.match(job).blocks if self.reuse is not None else []
            there = sum(self.manager.pool.ref_count(block) > 0 for block in found) * self.block_size
            prompt = max(0, len(job.prompt) - there)
            first = prompt, job.length - there - prompt
            waiting = [first, *self.queue]
            if not parts.pure("admit", waiting, self.num_free, spare, self.block_size, self.running):
                raise OutOfBlocks(-(-sum(first) // self.block_size) + spare, self.num_free)
        return super().admit(job, spare)


class OwnScheduler(Scheduler):
    """A `Scheduler` on an `OwnStore` whose prompts run as many tokens in a step as `schedule_step` says."""

    store: OwnStore

    def _start(self, plan: Plan, job: Any, left: int) -> int:
        others = [other for other in self.waiting if other is not job and other.state != "swapped"]
        self.store.queue = [(len(other.prompt), len(other.tokens)) for other in others[:_SHOWN]]
        self.store.running = self.num_running
        return super()._start(plan, job, left)

    def _chunk(self, plan: Plan, job: Any, left: int) -> int:
        parts = self.store.manager.parts
        if "schedule_step" in parts.mine and left > 0:
            step = parts.pure("schedule_step", self._jobs(plan, job), self.token_budget)
            left = min(left, int(step.get(job.id, 0)))
        return super()._chunk(plan, job, left)

    def _jobs(self, plan: Plan, job: Any) -> list[tuple[Any, str, int]]:
        """Who runs in this step as far as it is planned, `job` the last of them, as `schedule_step` is told."""
        begun = [other for other in plan.admitted if other.id in self.prefilling]
        under_way = sorted((one for one in self.prefilling.values() if one not in begun), key=self.order)
        if job not in begun:
            under_way = under_way[: under_way.index(job) + 1]
        rows = [(one.id, "decoding", 1) for one in plan.decoding]
        rows += [(one.id, "prompt", one.length - one.computed) for one in under_way]
        return rows + [(one.id, "waiting", one.length - one.computed) for one in begun]


def policies(parts: Parts, block_size: int, swaps: bool) -> Policies:
    """Policies that ask the learner's functions: `choose_victim`, `pick_next`, and which is cheaper for a victim.

    The costs are those of the course's 8B assistant on an A100, since a small model's would be all alike. swaps:
    whether there is a host to swap to; with neither cost of the learner's, whoever can is swapped.
    """
    swap: Callable[[int, int], bool] = always_swap
    if {"recompute_seconds", "swap_seconds"} & parts.mine.keys():
        swap = _cheaper(parts, block_size, LLAMA_8B, HARDWARE["A100-80"])
    usual = Policies(order=by_priority, victim=_victim(parts))
    chosen = usual._replace(swap=swap) if swaps else usual
    return chosen._replace(pick=_Picker(parts)) if "pick_next" in parts.mine else chosen


def _victim(parts: Parts) -> Callable[[Sequence[Any]], Any]:
    def victim(running: Sequence[Any]) -> Any:
        rows = [(job.id, job.priority, job.arrival) for job in running]
        name = parts.pure("choose_victim", rows, running[0].id)
        return next(job for job in running if job.id == name)

    return victim


def _cheaper(parts: Parts, block_size: int, model: ModelSize, gpu: Hardware) -> Callable[[int, int], bool]:
    """Which is cheaper on `gpu`, by the learner's two costs."""

    def recompute(num_tokens: int) -> float:
        arguments = num_tokens, model.parameters, gpu.flops, model.weight_bytes, gpu.bandwidth
        return float(parts.pure("recompute_seconds", *arguments))

    def swap(num_blocks: int) -> float:
        return float(parts.pure("swap_seconds", num_blocks, model.kv_bytes * block_size, gpu.host_bandwidth))

    return Cheaper(recompute, swap).__call__


class _Picker(LongestPrefixFirst):
    """`LongestPrefixFirst` by the learner's `pick_next`."""

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.parts = parts

    def choose(self, found: list[int], overtaken: list[int]) -> int:
        """The place of who goes next."""
        return int(self.parts.pure("pick_next", found, overtaken, self.patience))


def swapping(parts: Parts) -> Callable[[list[list[int]], list[int]], SwapPlan]:
    """`kvlab.memory.swap_plan` by the learner's, whichever free blocks it takes."""

    def plan(tables: list[list[int]], free: list[int]) -> SwapPlan:
        part = parts.mine.get("swap_plan")
        if part is not None:
            given, free = [list(table) for table in tables], list(free)
            got, error = parts.attempt("swap_plan", lambda: part(given, list(free)))
            wrong = _wrong_move([list(table) for table in tables], given, free, got, error)
            if not wrong:
                moved, copies = got
                return SwapPlan([list(map(int, table)) for table in moved], [(int(a), int(b)) for a, b in copies])
            parts.blame("swap_plan", f"swap_plan(tables={show(tables, 50)}, free={show(free, 40)}) {wrong}", "I2")
        return swap_plan(tables, free)

    return plan


def _wrong_move(tables: list[list[int]], given: list[list[int]], free: list[int], got: Any,
                error: BaseException | None) -> str:
    if error is not None:
        return f"{said(error)}, expected tables and copies."
    if given != tables:
        return "changed the tables that it was given, expected new ones."
    try:
        moved, copies = [list(table) for table in got[0]], [(source, target) for source, target in got[1]]
        place, different = dict(copies), {block for table in tables for block in table}
        once = len(copies) == len(place) == len(different) and place.keys() == different
        if not once:
            return f"copies {show(copies, 60)}, expected each of {show(sorted(different), 40)} once."
        if not set(place.values()) <= set(free) or len(set(place.values())) != len(place):
            return f"copies into {show(list(place.values()), 50)}, expected a free block for each."
        wanted = [[place[block] for block in table] for table in tables]
    except (TypeError, ValueError, IndexError, KeyError):
        return f"returned {show(got, 60)}, expected a list of tables and a list of pairs."
    return "" if moved == wanted else f"made the tables {show(moved, 50)}, expected {show(wanted, 50)}."
