"""Beam search on forked block tables, token for token that of transformers' `generate(num_beams=...)`.

A step's candidates are all continuations of all beams, by the sum of their log-probabilities. The best that do not end
become the next beams: survivors are forked, losers freed. Those that end and are among the best are kept aside with a
score that a length penalty divides, and the search is over when no beam can overtake them.
"""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from .group import BranchId, Group
from .request import Generation

EarlyStopping = bool | Literal["never"]
NEVER = -1e9  # added to the score of what must not be chosen; the very number that transformers adds


class Hypothesis(NamedTuple):
    """An answer that beam search found. score: its log-probability over `len(tokens) ** length_penalty`."""

    tokens: list[int]
    score: float
    reason: str


class BeamState(NamedTuple):
    """Where a search stands after a step. W beams.

    beams: the sequences, the best first. tokens: what each has said. parents: which beam of the step before each
    continues. scores: `[W]`, their log-probabilities. ended: the W best that have ended, with `ended_scores` `[W]`;
    full: `[W]`, which of these there are. done: the search is over.
    """

    beams: list[Generation]
    tokens: list[list[int]]
    parents: list[int]
    scores: Tensor
    ended: list[list[int]]
    ended_scores: Tensor
    full: Tensor
    done: bool = False


class BeamSearch(Group):
    """What `Engine.beam` returns. `hypotheses` are there when it has `finished`: the best first, `num_return` of them.

    reason: "done" or "aborted", None until then. parents: for each step, which beam each beam continued.
    """

    together = True

    def __init__(
        self,
        stem: Generation,
        width: int,
        length_penalty: float = 1.0,
        early_stopping: EarlyStopping = False,
        num_return: int = 1,
    ) -> None:
        super().__init__(stem)
        self.width, self.length_penalty, self.early_stopping = width, length_penalty, early_stopping
        self.num_return = num_return
        self.reason: str | None = None
        self.parents: list[list[int]] = []
        self._numbers = itertools.count()
        self.state = self._nothing()

    def _nothing(self) -> BeamState:
        """Where every search begins: W equal beams, of which only one may be continued."""
        width = self.width
        scores = torch.full((width,), NEVER)
        scores[0] = 0.0
        ended = torch.full((width,), NEVER), torch.zeros(width, dtype=torch.bool)
        return BeamState([], [[]] * width, [0] * width, scores, [[]] * width, *ended)

    @property
    def seats(self) -> int:
        """Beams, as long as the search goes on."""
        return 0 if self.reason else self.width

    @property
    def hypotheses(self) -> list[Hypothesis]:
        """What it has found when it is done; nothing before, or if it was aborted."""
        if self.reason != "done":
            return []
        found = zip(self.state.ended, self.state.ended_scores.tolist(), strict=True)
        reasons = ("length", "eos")
        return [Hypothesis(said, score, reasons[said[-1] in self.stem.eos]) for said, score in found][: self.num_return]

    def restart(self) -> Generation:
        """Begin again: the same steps lead to the same beams."""
        for beam in self.state.beams:
            beam.reason = "dropped"
        self.state, self.parents = self._nothing(), []
        self.stem.reason = self.reason and "dropped"
        return self.stem

    def abort(self) -> None:
        """End the search without a result."""
        self.reason = self.reason or "aborted"
        for generation in (*self.state.beams, self.stem):
            generation.abort()

    def decide(self, logits: Tensor) -> BeamState:
        """The state after a step, from the logits `[W, vocab]` of the beams, or `[1, vocab]` of the stem.

        Changes nothing, so that a step can be repeated. Beams that are new must be forked from those they continue.
        """
        state, vocab = self.state, logits.shape[-1]
        scores = logits.float().log_softmax(-1) + state.scores.to(logits.device)[:, None]
        best, flat = torch.topk(scores.flatten(), max(2, 1 + len(self.stem.eos)) * self.width)
        parents, said = (flat // vocab).tolist(), (flat % vocab).tolist()
        tokens = [[*state.tokens[parent], token] for parent, token in zip(parents, said, strict=True)]
        best, length = best.cpu(), len(tokens[0])
        ends = torch.tensor([token in self.stem.eos or length == self.stem.max_new_tokens for token in said])
        state = self._end(state, tokens, best, ends)
        running = best + ends * NEVER
        chosen = torch.topk(running, self.width).indices.tolist()
        state = state._replace(
            tokens=[tokens[i] for i in chosen], parents=[parents[i] for i in chosen], scores=running[chosen]
        )
        state = state._replace(done=bool(ends.all()) or self._is_over(state, length))
        return state if state.done else state._replace(beams=self._continue(state))

    def _end(self, state: BeamState, tokens: list[list[int]], best: Tensor, ends: Tensor) -> BeamState:
        """`state` with the candidates that end, if they are among the W best and better than what had ended before."""
        ends = ends & (torch.arange(len(ends)) < self.width)
        scores = best / len(tokens[0]) ** self.length_penalty + ~ends * NEVER
        scores, full = torch.cat((state.ended_scores, scores)), torch.cat((state.full, ends))
        kept = torch.topk(scores, self.width).indices.tolist()
        ended = [*state.ended, *tokens]
        return state._replace(ended=[ended[i] for i in kept], ended_scores=scores[kept], full=full[kept])

    def _is_over(self, state: BeamState, length: int) -> bool:
        """Whether all W answers are there and none can be overtaken, as far as `early_stopping` asks for that.

        True: the first W will do. False: the best beam is judged as if it ended now. "never": as if it ended at the
        length that suits it best.
        """
        if not bool(state.full.all()):
            return False
        if self.early_stopping is True:
            return True
        longest = self.early_stopping == "never" and self.length_penalty > 0
        possible = state.scores[0] / (self.stem.max_new_tokens if longest else length) ** self.length_penalty
        return not bool(possible > state.ended_scores.min())

    def _continue(self, state: BeamState) -> list[Generation]:
        """The next beams: a beam goes on as its own first child; further children are new, and so are the stem's."""
        before, beams = list[Generation | None](self.state.beams) or [None] * self.width, []
        for parent, tokens in zip(state.parents, state.tokens, strict=True):
            beam, before[parent] = before[parent], None
            beams.append(beam or self._beam(tokens))
        return beams

    def _beam(self, tokens: list[int]) -> Generation:
        stem = self.stem
        name = BranchId(self.id, next(self._numbers))
        return Generation(
            name, stem.prompt, stem.max_new_tokens, stem.sampling, tokens=tokens, group=self, tag=stem.tag,
            priority=stem.priority,
        )  # fmt: skip

    def forks(self, state: BeamState) -> list[tuple[Generation, list[Generation]]]:
        """Who must be forked into whom before `become(state)`."""
        before = self.state.beams
        children: dict[int, list[Generation]] = {}
        for beam, parent in zip(state.beams, state.parents, strict=True):
            if not state.done and beam not in before:
                children.setdefault(parent if before else 0, []).append(beam)
        return [(before[parent] if before else self.stem, born) for parent, born in children.items()]

    def become(self, state: BeamState) -> None:
        """Go over to the state that a step has led to; who is not among its beams ends. It can be repeated."""
        if self.reason:
            return
        going = () if state.done else state.beams
        for beam in (*self.state.beams, self.stem):
            if beam not in going:
                beam.reason = "dropped"
        if not state.done:
            for beam, tokens in zip(state.beams, state.tokens, strict=True):
                beam.tokens = tokens
        if self.state is not state:
            self.parents.append(state.parents)
        self.state = state
        self.reason = "done" if state.done else None
