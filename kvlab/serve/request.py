"""A request on its way through the engine: what was asked, and how far it has got."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .draws import sample_generator
from .sampling import GREEDY, Sampling, TokenScore

if TYPE_CHECKING:
    from .group import Group


@dataclass(eq=False)
class Generation:
    """What `Engine.submit` returns. `tokens` grows as the engine steps; `reason` says why it ended, None until then.

    prompt: token ids. max_new_tokens: at most so many are generated. eos: ids that end it; the one that does is kept in
    `tokens`. stop: sequences of ids that end it when `tokens` ends with one of them. reason: "eos", "stop", "length" or
    "aborted". computed: tokens whose keys and values are in the pools. draw: the random number in [0, 1) that chooses
    the next token; it stays until that token is accepted, so that a step can be repeated.

    group: what it is a branch of, if several share its prompt; number: which branch, each with random numbers of its
    own. tag: what its keys and values depend on beside the tokens, see `kvlab.memory.history.tag_bytes`. logprob: log-
    probability of `tokens` by the model's own distribution, summed up if it is `scored`. alternatives: if it is not
    None, `scores` has an entry for each of `tokens`, with so many alternatives. priority: the smaller, the sooner,
    under a policy that looks at it. came: its number among all requests. state: see `kvlab.serve.policies.Job`.
    """

    id: Hashable
    prompt: list[int]
    max_new_tokens: int
    sampling: Sampling = GREEDY
    eos: frozenset[int] = frozenset()
    stop: Sequence[tuple[int, ...]] = ()
    tokens: list[int] = field(default_factory=list)
    reason: str | None = None
    computed: int = 0
    group: Group | None = field(default=None, repr=False)
    number: int = 0
    scored: bool = False
    logprob: float = 0.0
    alternatives: int | None = None
    scores: list[TokenScore] = field(default_factory=list)
    tag: tuple[Hashable, ...] = ()
    priority: int = 0
    came: int = 0
    state: str = ""

    def __post_init__(self) -> None:
        self._random = sample_generator(self.sampling.seed, self.number)
        self.draw = self._random.random()

    @property
    def arrival(self) -> tuple[int, int]:
        """When it came, before and after others; branches of one prompt by their numbers."""
        if self.group is None or self.group.stem is self:
            return self.came, 0
        return self.group.stem.came, 1 + self.number

    @property
    def seats(self) -> int:
        """Sequences that it is, or is to be."""
        return self.group.seats if self.group is not None and self.group.stem is self else 1

    @property
    def finished(self) -> bool:
        """Whether it has ended, for whatever reason."""
        return self.reason is not None

    @property
    def length(self) -> int:
        """Tokens of prompt and answer together."""
        return len(self.prompt) + len(self.tokens)

    @property
    def pending(self) -> int:
        """Tokens that have still to be run: the rest of the prompt, or 1 while decoding."""
        return self.length - self.computed

    def pending_tokens(self, count: int) -> list[int]:
        """The first `count` of them."""
        start = self.computed - len(self.prompt)
        if start >= 0:
            return self.tokens[start : start + count]
        return self.prompt[self.computed : self.computed + count] + self.tokens[: max(0, start + count)]

    def abort(self) -> None:
        """End it, if it has not ended."""
        self.reason = self.reason or "aborted"

    def accept(self, token: int) -> None:
        """Add a token that was sampled, and end if it is the last."""
        self.tokens.append(token)
        self.draw = self._random.random()
        if token in self.eos:
            self.reason = "eos"
        elif any(tuple(self.tokens[-len(ending) :]) == ending for ending in self.stop):
            self.reason = "stop"
        elif len(self.tokens) == self.max_new_tokens:
            self.reason = "length"
