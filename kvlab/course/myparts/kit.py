"""What an engine is supplied with: the learner's parts where there are any, and a table that says which is whose."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

from kvlab.course import registry
from kvlab.course.judge import judge
from kvlab.course.myparts.attention import DECODERS, attention
from kvlab.course.myparts.decisions import OwnScheduler, OwnStore, policies, swapping
from kvlab.course.myparts.manager import OwnManager
from kvlab.course.myparts.parts import Fault, Parts
from kvlab.course.myparts.prefixes import OwnIndex
from kvlab.course.myparts.roles import ROLES
from kvlab.course.myparts.tree_index import OwnTree
from kvlab.course.myparts.writing import WRITERS, writer
from kvlab.course.say import paragraph, say
from kvlab.course.verdict import PASSED
from kvlab.errors import UsageError
from kvlab.serve.policies import Policies

_RESERVE = (WRITERS, DECODERS)
_INDEXES: dict[str, type[OwnIndex] | type[OwnTree]] = {"hash": OwnIndex, "radix": OwnTree}
_HEAD = ("part", "whose", "calls", "where it is used")


class Row(NamedTuple):
    """A line of the table: an exercise, whose part is on duty and why, how often it was called, where it is used."""

    part: str
    whose: str
    calls: int
    used: str

    @property
    def called(self) -> str:
        """How often it was called, as it is shown: "never" for a learner's part; finished ones are not counted."""
        return str(self.calls) if self.calls else "never" if self.whose.startswith("yours") else ""


class Kit:
    """Supplies a `kvlab.serve.supervised.SupervisedEngine`, whose `parts` it is. Shown, it is a table.

    prefix: how prompts are found that were computed before, "hash" or "radix"; None: not at all.
    """

    scheduler_type = OwnScheduler

    def __init__(self, parts: Parts, prefix: str | None = "hash") -> None:
        if prefix not in (*_INDEXES, None):
            raise UsageError(f"prefix is {' or '.join(map(repr, _INDEXES))}, or None, not {prefix!r:.40}")
        self._parts, self._prefix = parts, prefix

    @property
    def faults(self) -> list[Fault]:
        """What was wrong with the learner's parts so far, in the order in which it showed."""
        return self._parts.faults

    @property
    def mine(self) -> list[str]:
        """The learner's parts that are on duty."""
        return self._parts.active

    @property
    def rows(self) -> list[Row]:
        """The table: every exercise that is a part of an engine, in the order of the labs."""
        return [Row(name, self._whose(name), self._parts.calls[name], role.used) for name, role in ROLES.items()]

    def __repr__(self) -> str:
        rows = [_HEAD, *[(row.part, row.whose, row.called, row.used) for row in self.rows]]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{cell}</th>" for cell in _HEAD)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>"
                                        for cell in (row.part, row.whose, row.called, row.used)) + "</tr>"
                       for row in self.rows)
        return f"<table><caption>Whose parts run</caption><tr>{head}</tr>{body}</table>"

    def _whose(self, name: str) -> str:
        whose = self._parts.whose(name)
        for chain in _RESERVE:
            before = [other for other in chain[: chain.index(name)] if other in self.mine] if name in chain else []
            if before and whose == "yours":
                return f"yours, behind {before[0]}"
        return whose

    def recheck(self) -> None:
        """Check every part as its cell in the lab does. One that passes no more goes off duty, with the first lines of
        its verdict."""
        for name in self.mine:
            entry = registry.find(name)
            found = judge(entry, self._parts.mine[name]) if entry is not None else None
            if found is not None and found.status != PASSED:
                self._parts.blame(name, " ".join(" ".join(found.lines[:-1]).removeprefix("✗ ").split()))

    def manager(self, num_blocks: int, block_size: int) -> OwnManager:
        """A manager on a pool of its own."""
        return OwnManager(self._parts, num_blocks, block_size, OwnStore)

    def index(self, manager: Any) -> OwnIndex | OwnTree | None:
        """An index over the manager's pool, if prompts are looked for."""
        return _INDEXES[self._prefix](self._parts, manager.pool, manager.block_size) if self._prefix else None

    def attention(self, finished: Any) -> Callable[..., Any] | None:
        """Attention by the learner's, `finished` beside it; None if none is theirs."""
        return attention(self._parts, finished)

    def writer(self) -> Callable[..., None] | None:
        """What writes keys and values; None if it is not the learner's."""
        return writer(self._parts)

    def policies(self, block_size: int, swaps: bool) -> Policies:
        """Policies that ask the learner's functions."""
        return policies(self._parts, block_size, swaps)

    def swap_plan(self) -> Callable[..., Any]:
        """What plans the moves to the host and back."""
        return swapping(self._parts)

    def failed(self, trouble: Exception) -> bool:
        """Take the likeliest of the learner's parts off duty; False if there is none."""
        return self._parts.failed(trouble)

    def changed(self, generation: Any, wrong: int) -> None:
        """Say that the last tokens of a request are computed again."""
        if not self._parts.quiet:
            last = f"{wrong} token{'s' * (wrong != 1)}"
            say(paragraph(f"  Request {generation.id!r}: its last {last} came from that part and are computed again."))
