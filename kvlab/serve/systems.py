"""The systems table: what each does with KV memory, where that is written, and a run of its policy on your trace."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from kvlab.errors import UsageError
from kvlab.memory import Trace

from . import system_facts as read
from .hf_run import run_hugging_face
from .system_facts import Facts, Source
from .system_runs import (
    Machine,
    Outcome,
    chat_trace,
    lengths_with_texts,
    run_lmcache,
    run_sglang,
    run_tensorrt,
    run_tgi,
    run_vattention,
    run_vllm,
)


@dataclass(frozen=True)
class System:
    """One row of the table. runs_as: what `run` does, and where it departs from the system; one sentence or two."""

    name: str
    facts: Facts
    sources: tuple[Source, ...]
    runs_as: str
    policy: Callable[[Trace, Machine], Outcome]

    def run(self, trace: Trace, machine: Machine | None = None) -> Outcome:
        """Serve `trace` by this system's policy, all else as in `machine`. Requests without segments share nothing.

        A request that can never fit: `NeverFits`, before anything runs.
        """
        return self.policy(lengths_with_texts(trace), machine or Machine())


ROWS = (
    System(
        "vLLM",
        read.VLLM,
        read.VLLM_SOURCES,
        "Blocks of 16 tokens. Those of a whole prompt are taken at admission, where vLLM takes them chunk by chunk.",
        run_vllm,
    ),
    System(
        "SGLang",
        read.SGLANG,
        read.SGLANG_SOURCES,
        "Pages of one token; the order is lpm, with a bound on overtaking (by default SGLang takes who comes first). "
        "Its estimate of how much running requests will still need is left out; the oldest request is never retracted.",
        run_sglang,
    ),
    System(
        "TensorRT-LLM",
        read.TENSORRT,
        read.TENSORRT_SOURCES,
        "Blocks of 32 tokens; the first segment of each prompt has priority 100, the rest 35. None goes to the host.",
        run_tensorrt,
    ),
    System(
        "TGI",
        read.TGI,
        read.TGI_SOURCES,
        "Slots of one token, all of a request's at admission. Its cap on prompt tokens in a batch is the token budget.",
        run_tgi,
    ),
    System(
        "LMCache",
        read.LMCACHE,
        read.LMCACHE_SOURCES,
        "vLLM's row with chunks of 256 tokens on the host below it. A load delays the step by its bytes over PCIe; "
        "a store costs nothing.",
        run_lmcache,
    ),
    System(
        "vAttention",
        read.VATTENTION,
        read.VATTENTION_SOURCES,
        "Pages of 2 MB: 1,024 tokens of the course's 8B model. The scheduler is the course's: the last leaves.",
        run_vattention,
    ),
    System(
        "Hugging Face",
        read.HUGGING_FACE,
        read.HUGGING_FACE_SOURCES,
        "generate_batch with the scheduler fifo, decision by decision, without CUDA graphs and host memory.",
        partial(run_hugging_face, kind="fifo"),
    ),
)
SYSTEMS: Mapping[str, System] = {system.name: system for system in ROWS}
"""Every system by name."""


def side_by_side(
    trace: Trace | None = None, machine: Machine | None = None, names: Iterable[str] = ()
) -> dict[str, Outcome]:
    """Each system's outcome on the same trace: by default chats under one system prompt, and every system.

    A name that is not in the table: `UsageError`.
    """
    chosen = list(names) or list(SYSTEMS)
    for name in chosen:
        _known(name)
    trace = chat_trace() if trace is None else trace
    return {name: SYSTEMS[name].run(trace, machine) for name in chosen}


COLUMNS: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("tokens/s", lambda o: f"{o.tokens_per_second:,.0f}"),
    ("in flight", lambda o: f"{o.running:.1f}"),
    ("at most", lambda o: f"{o.peak}"),
    ("found", lambda o: f"{o.hit_rate:.1%}"),
    ("preemptions", lambda o: f"{o.preemptions}"),
    ("again", lambda o: f"{o.recomputed:,}"),
    ("holds tokens", lambda o: f"{o.waste.held:.1%}"),
    ("taken, empty", lambda o: f"{o.waste.later + o.waste.internal:.1%}"),
)
KEY = (
    "tokens/s: generated. in flight, at most: requests at once. found: prompt tokens that were there already.",
    "preemptions: requests that had to leave. again: tokens computed again for them. The last two: of the memory.",
)


def outcome_table(outcomes: Mapping[str, Outcome]) -> str:
    """Outcomes of `side_by_side` as text, a line each, with what the columns mean below."""
    lines = [["", *(title for title, _ in COLUMNS)]]
    lines += [[name, *(show(outcome) for _, show in COLUMNS)] for name, outcome in outcomes.items()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
    return "\n".join([*rows, "", *KEY])


def facts_table(names: Iterable[str] = (), width: int = 100, questions: Iterable[str] = ()) -> str:
    """What each system does; `width` columns wide (at least 40).

    Without `questions`, system by system: every answer, how its policy runs here, and what was read. With some of them
    ("unit", "free list", "sharing", "eviction", "preemption", "tiers"), question by question, a few lines a system. A
    question or a name that is not in the table: `UsageError`.
    """
    if width < 40:
        raise UsageError(f"the table needs at least 40 columns, not {width}")
    chosen = list(names) or list(SYSTEMS)
    for name in chosen:
        _known(name)
    asked = list(questions)
    if asked:
        return _by_question(asked, [SYSTEMS[name] for name in chosen], width)
    parts = []
    for system in (SYSTEMS[name] for name in chosen):
        versions = ", ".join(dict.fromkeys(source.version for source in system.sources))
        rows = [*system.facts.rows(), ("runs here as", system.runs_as), ("read", versions)]
        parts.append("\n".join(_titled(system.name, rows, width)))
    return "\n\n".join(parts)


def _by_question(asked: list[str], systems: list[System], width: int) -> str:
    parts = []
    for question in asked:
        there = [key for key, _ in systems[0].facts.rows()]
        if question not in there:
            raise UsageError(f"there is no question {question!r} in the table: there are {', '.join(there)}")
        answers = [(system.name, dict(system.facts.rows())[question]) for system in systems]
        parts.append("\n".join(_titled(question, answers, width)))
    return "\n\n".join(parts)


def _titled(title: str, rows: list[tuple[str, str]], width: int) -> list[str]:
    """A title, a line under it, and each row as (what, text) with the text beside."""
    lines = [title, "-" * len(title)]
    for what, text in rows:
        lines += textwrap.wrap(text, width, initial_indent=f"{what:13} ", subsequent_indent=" " * 14)
    return lines


def _known(name: str) -> None:
    if name not in SYSTEMS:
        raise UsageError(f"there is no system {name!r} in the table: there are {', '.join(SYSTEMS)}")
