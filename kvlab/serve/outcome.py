"""What a step has led to, decided before anything is changed, so that it can be carried out again if it is interrupted.

An engine may be interrupted anywhere (a notebook's stop button). What it has decided is therefore written down as
absolute facts, "computed is 17 now", "its 5th token is 42", which are as true when they are set twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from .beam import BeamSearch, BeamState
from .line import Line
from .parallel import Samples
from .placement import Ran
from .plan import Plan
from .request import Generation
from .sampling import TokenScore, sample, score


class Token(NamedTuple):
    """A sampled token: the one at `position` of its generation's answer, and the answer's log-probability with it.

    score: how likely the token itself was, if that is asked for.
    """

    generation: Generation
    position: int
    token: int
    logprob: float
    score: TokenScore | None = None


class Outcome(NamedTuple):
    """What a step has led to.

    plan: the step's. computed: how many tokens each sequence that ran has in the pools now. forks: which are to be
    forked into which, before anybody writes again. tokens: what was sampled. beams: the states that beam searches go
    over to.
    """

    plan: Plan
    computed: list[tuple[Generation, int]]
    forks: list[tuple[Generation, list[Generation]]]
    tokens: list[Token]
    beams: list[tuple[BeamSearch, BeamState]]


def decide(plan: Plan, ran: Ran, logits: Tensor) -> Outcome:
    """The outcome of a step of `plan` in which each generation of `ran` ran so many tokens. Changes nothing.

    logits: `[rows, vocab]`, one row for each of `ran` that has no more tokens to run, in order.
    """
    outcome = Outcome(plan, [(generation, generation.computed + count) for generation, count in ran], [], [], [])
    rows: dict[Generation, int] = {}
    for generation, count in ran:
        if count == generation.pending:
            rows[generation] = len(rows)
    readers = [(reader, row) for generation, row in rows.items() for reader in _readers(generation, outcome)]
    _sample(readers, logits, outcome)
    for search in {generation.group for generation in rows}:
        if isinstance(search, BeamSearch) and not search.finished:
            which = [rows[generation] for generation in search.state.beams or [search.stem]]
            state = search.decide(logits[which])
            outcome.beams.append((search, state))
            outcome.forks.extend(search.forks(state))
    return outcome


def _readers(generation: Generation, outcome: Outcome) -> Sequence[Generation]:
    """Who samples from the logits of `generation`; if it is the stem of samples, it is to be forked into them."""
    group = generation.group
    if group is None:
        return (generation,)
    if not isinstance(group, Samples):
        return ()
    readers = group.readers(generation)
    if generation is group.stem:
        outcome.forks.append((generation, list(readers)))
    return readers


def _sample(readers: list[tuple[Generation, int]], logits: Tensor, outcome: Outcome) -> None:
    if not readers:
        return
    rows = [row for _, row in readers]
    if rows != list(range(len(logits))):
        logits = logits[rows]
    tokens = sample(logits, [reader.sampling for reader, _ in readers], [reader.draw for reader, _ in readers])
    scored = [i for i, (reader, _) in enumerate(readers) if reader.scored or reader.alternatives is not None]
    found = zip(scored, logits[scored].float().log_softmax(-1), strict=True) if scored else ()
    scores = {i: score(row, tokens[i], readers[i][0].alternatives or 0) for i, row in found}
    for i, ((reader, _), token) in enumerate(zip(readers, tokens, strict=True)):
        own = scores.get(i)
        logprob = reader.logprob + own.logprob if own is not None and reader.scored else reader.logprob
        outcome.tokens.append(Token(reader, len(reader.tokens), token, logprob, own))


def carry_out(outcome: Outcome, line: Line) -> None:
    """Make it so; doing it again changes nothing. Forks come first: nobody writes before their blocks are shared."""
    for generation, computed in outcome.computed:
        generation.computed = computed
    line.scheduler.commit(outcome.plan)
    for parent, children in outcome.forks:
        line.branch(parent, children)
    for generation, position, token, logprob, own in outcome.tokens:
        if not generation.finished and len(generation.tokens) == position:
            generation.logprob = logprob
            if own is not None and generation.alternatives is not None:
                generation.scores[position:] = [own]
            generation.accept(token)
    for search, state in outcome.beams:
        search.become(state)
