"""The first engine: continuous batching of prefill and decode on paged memory, by admission and completion alone.

Each step admits what it may (see `admission`), runs one flattened batch of prompts' chunks and decoding tokens,
samples, and frees what has ended. Nothing is preempted.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from time import perf_counter

from transformers import PreTrainedModel

from kvlab.compute import PagedAttention
from kvlab.errors import InvariantBroken, UsageError
from kvlab.memory import BlockManager, slot_mapping

from .admission import Promises
from .batch import Batch, Row, flatten
from .hf import PagedModel
from .request import Generation
from .sampling import GREEDY, Sampling, sample


class Engine:
    """Serves one Hugging Face causal language model (see `PagedModel` for which) from a pool of `num_blocks` blocks.

    max_running: requests that run at once. token_budget: tokens of one step; decoding requests come first, a token
    each, and prompts share what is left, in chunks. manager: a stand-in for `BlockManager`; attention: for
    `paged_attention`; both may be a learner's. checked: `check()` runs after every step.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        num_blocks: int,
        block_size: int = 16,
        *,
        max_running: int = 256,
        token_budget: int = 512,
        manager: BlockManager | None = None,
        attention: PagedAttention | None = None,
        checked: bool = False,
        fill: float = 0.0,
    ) -> None:
        if max_running < 1 or token_budget < 1:
            raise UsageError(f"at least 1 request and 1 token a step, not {max_running} and {token_budget}")
        self.paged = PagedModel(model, num_blocks, block_size, attention=attention, fill=fill)
        self.manager = manager if manager is not None else BlockManager(num_blocks, block_size)
        self.num_blocks, self.block_size = num_blocks, block_size
        self.max_running, self.token_budget, self.checked = max_running, token_budget, checked
        self.waiting: deque[Generation] = deque()
        self.running: list[Generation] = []
        self.steps = self.projected_tokens = 0
        self.planning_seconds = self.step_seconds = 0.0
        self._promises = Promises(num_blocks, block_size, self.paged.max_positions)
        self._ids = itertools.count()

    def submit(
        self,
        prompt: Sequence[int],
        max_new_tokens: int = 128,
        sampling: Sampling = GREEDY,
        *,
        eos: Iterable[int] | None = None,
        stop: Iterable[Sequence[int]] = (),
        request_id: Hashable = None,
    ) -> Generation:
        """Queue a request. Refused at once: `NeverFits` if it could never run, `UsageError` if it makes no sense.

        prompt: token ids, at least one. eos: ids that end the answer; by default the model's own, `()` for none.
        stop: sequences of ids that do. request_id: by default a number of its own.
        """
        prompt = [int(token) for token in prompt]
        if not prompt or max_new_tokens < 1:
            raise UsageError(
                f"a request has at least 1 token and asks for at least 1, not {len(prompt)} and {max_new_tokens}"
            )
        if not 0 <= min(prompt) <= max(prompt) < self.paged.vocab_size:
            raise UsageError(
                f"token ids go from 0 to {self.paged.vocab_size - 1}; the prompt has {min(prompt)} to {max(prompt)}"
            )
        request_id = next(self._ids) if request_id is None else request_id
        if any(request_id == other.id for other in itertools.chain(self.waiting, self.running)):
            raise UsageError(f"a request {request_id!r} is there already")
        promised = self._promises.needed(len(prompt), max_new_tokens)
        ends = self.paged.eos if eos is None else frozenset(eos)
        endings = [tuple(ending) for ending in stop if len(ending)]
        generation = Generation(request_id, prompt, max_new_tokens, sampling, ends, endings, promised)
        self.waiting.append(generation)
        return generation

    @property
    def has_work(self) -> bool:
        """Whether any request waits or runs."""
        return bool(self.waiting or self.running)

    def step(self) -> list[Generation]:
        """Admit, run one flattened batch, sample. Returns the generations that got a token.

        If it is interrupted or fails, no token is lost or doubled: the next step runs the same tokens into the same
        slots.
        """
        began = perf_counter()
        self._admit()
        chosen = self._choose()
        if not chosen:
            return []
        batch = self._place(chosen)
        self.planning_seconds += perf_counter() - began
        logits = self.paged.forward(batch)
        sampled = [generation for generation, count in chosen if count == generation.pending]
        tokens = sample(logits, [g.sampling for g in sampled], [g.draws for g in sampled]) if sampled else []
        for generation, count in chosen:
            generation.computed += count
        for generation, token in zip(sampled, tokens, strict=True):
            generation.accept(token)
        self._retire()
        self.steps += 1
        self.projected_tokens += batch.plan.num_tokens
        self.step_seconds += perf_counter() - began
        if self.checked:
            self.check()
        return sampled

    def run(self) -> None:
        """Step until nothing waits or runs."""
        while self.has_work:
            self.step()

    def stream(self, generation: Generation) -> Iterator[int]:
        """The generation's tokens as they come. The engine steps for all its requests when one is missing."""
        sent = 0
        while True:
            yield from generation.tokens[sent:]
            sent = len(generation.tokens)
            if generation.finished and sent == len(generation.tokens):
                return
            if not generation.finished:
                self.step()

    def abort(self, generation: Generation) -> None:
        """End a generation now and give its blocks back. One that has ended already stays as it is."""
        if generation.finished:
            return
        generation.reason = "aborted"
        if generation in self.waiting:
            self.waiting.remove(generation)
        self._retire()

    def check(self) -> None:
        """Walk everything: pool, tables and counts (I1, I2, I3), tokens that have slots (I3), and promises (I10)."""
        self.manager.check()
        for generation in self.running:
            tokens = self.manager.num_tokens(generation.id)
            if tokens != generation.placed or not generation.computed <= generation.placed <= generation.length:
                counts = f"{generation.placed} placed, {generation.computed} computed, {generation.length} in all"
                raise InvariantBroken("I3", f"request {generation.id!r}: {tokens} tokens in the table, {counts}")
        self._promises.check(self.running)

    def _admit(self) -> None:
        """Move requests from waiting to running, oldest first, while every promise can be kept."""
        while self.waiting and len(self.running) < self.max_running and self._promises.make(self.waiting[0]):
            generation = self.waiting.popleft()
            self.manager.admit(generation.id, 0)
            self.running.append(generation)

    def _choose(self) -> list[tuple[Generation, int]]:
        """Who runs how many tokens: decoding requests one each, then prompts with what is left, oldest first."""
        left, chosen = self.token_budget, []
        for decoding in (True, False):
            for generation in self.running:
                if left and (generation.pending == 1) == decoding:
                    count = min(left, generation.pending)
                    chosen.append((generation, count))
                    left -= count
        return sorted(
            chosen, key=lambda pair: (-pair[1], -pair[0].length)
        )  # neighbours of a size are attended in place

    def _place(self, chosen: list[tuple[Generation, int]]) -> Batch:
        rows: list[Row] = []
        for generation, count in chosen:
            start, stop = generation.computed, generation.computed + count
            if generation.placed + 1 == stop and count == 1:
                slots = [self.manager.append(generation.id)]
                generation.placed = stop
            else:  # a chunk, or tokens that have their slots from a step that failed
                self.manager.extend(generation.id, max(0, stop - generation.placed))
                generation.placed = max(stop, generation.placed)
                slots = self.manager.slots(generation.id, start, stop).tolist()
            table = self.manager.table(generation.id)
            if self.checked and slots != slot_mapping(table, start, stop, self.block_size):
                raise InvariantBroken(
                    "I4", f"request {generation.id!r}: slots {slots} are not those of its table {table}"
                )
            tokens = generation.pending_tokens(count)
            rows.append(Row(tokens, start, table, slots, wants_logits=count == generation.pending))
        return flatten(rows, self.block_size, self.paged.device)

    def _retire(self) -> None:
        for generation in [generation for generation in self.running if generation.finished]:
            self.running.remove(generation)
            self.manager.free(generation.id)
            self._promises.end(generation)
