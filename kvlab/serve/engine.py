"""The first engine: continuous batching of prefill and decode on paged memory, by admission and completion alone.

Each step admits what it may (see `admission`), runs one flattened batch of prompts' chunks and decoding tokens,
samples, and frees what has ended. Nothing is preempted.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import index
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
    each, and prompts share what is left, in chunks. manager: a stand-in for `BlockManager`, of as many blocks of the
    same size, else `UsageError`; attention: for `paged_attention`; both may be a learner's. checked: `check()` runs
    after every step.
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
        self.manager = manager if manager is not None else BlockManager(num_blocks, block_size)
        managed = self.manager.pool.num_blocks, self.manager.block_size
        if managed != (num_blocks, block_size):
            raise UsageError(
                f"the manager has {managed[0]} blocks of {managed[1]} slots, the engine {num_blocks} of {block_size}"
            )
        self.paged = PagedModel(model, num_blocks, block_size, attention=attention, fill=fill)
        self.num_blocks, self.block_size = num_blocks, block_size
        self.max_running, self.token_budget, self.checked = max_running, token_budget, checked
        self.waiting: deque[Generation] = deque()
        self.running: list[Generation] = []
        self.steps = self.projected_tokens = 0
        self.planning_seconds = self.step_seconds = 0.0
        self._promises = Promises(self.manager.pool.num_free, block_size, self.paged.max_positions)
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
        prompt, max_new_tokens = [int(token) for token in prompt], index(max_new_tokens)
        if not prompt or max_new_tokens < 1:
            raise UsageError(
                f"a request has at least 1 token and asks for at least 1, not {len(prompt)} and {max_new_tokens}"
            )
        if not 0 <= min(prompt) <= max(prompt) < self.paged.vocab_size:
            raise UsageError(
                f"token ids go from 0 to {self.paged.vocab_size - 1}; the prompt has {min(prompt)} to {max(prompt)}"
            )
        taken = {other.id for other in itertools.chain(self.waiting, self.running)}
        if request_id in taken:
            raise UsageError(f"a request {request_id!r} is there already")
        if request_id is None:
            request_id = next(number for number in self._ids if number not in taken)
        promised = self._promises.needed(len(prompt), max_new_tokens)
        ends = self.paged.eos if eos is None else frozenset(map(int, eos))
        endings = [tuple(map(int, ending)) for ending in stop if len(ending)]
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
        self._retire()  # whoever ended in a step that was interrupted before it could
        self._admit()
        chosen = self._choose()
        if not chosen:
            return []
        batch = self._place(chosen)
        self.planning_seconds += perf_counter() - began
        logits = self.paged.forward(batch)
        sampled = [generation for generation, count in chosen if count == generation.pending]
        tokens = sample(logits, [g.sampling for g in sampled], [g.draw for g in sampled]) if sampled else []
        for generation, token in zip(sampled, tokens, strict=True):
            if not generation.finished:  # it may have been aborted while the model ran
                generation.accept(token)
        for generation, count in chosen:  # last: what is not counted as computed is run again
            generation.computed += count
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
        """The generation's tokens as they come. The engine steps for all its requests when one is missing.

        One that has not ended and is not this engine's is refused with `UsageError`.
        """
        sent = 0
        while True:
            yield from generation.tokens[sent:]
            sent = len(generation.tokens)
            if generation.finished and sent == len(generation.tokens):
                return
            if not generation.finished:
                self._refuse_stranger(generation)
                self.step()

    def abort(self, generation: Generation) -> None:
        """End a generation now and give its blocks back. One that has ended already stays as it is.

        One that has not ended and is not this engine's is refused with `UsageError`.
        """
        if generation.finished:
            return
        self._refuse_stranger(generation)
        generation.reason = "aborted"
        if generation in self.waiting:
            self.waiting.remove(generation)
        self._retire()

    def check(self) -> None:
        """Walk everything: pool, tables and counts (I1, I2, I3), tokens that have slots (I3), and promises (I10)."""
        self.manager.check()
        for generation in self.running:
            tokens = self.manager.num_tokens(generation.id)
            if not generation.computed <= tokens <= generation.length:
                counts = f"{generation.computed} computed, {generation.length} in all"
                raise InvariantBroken("I3", f"request {generation.id!r}: {tokens} tokens in the table, {counts}")
        self._promises.check(self.running)

    def _admit(self) -> None:
        """Move requests from waiting to running, oldest first, while every promise can be kept."""
        while self.waiting and len(self.running) < self.max_running:
            if not self._promises.allow(self.waiting[0], self.running):
                return
            self.manager.admit(self.waiting[0].id, 0)
            self.running.append(self.waiting.popleft())

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
            missing = stop - self.manager.num_tokens(generation.id)
            if missing == count == 1:
                slots = [self.manager.append(generation.id)]
            else:  # a chunk, or tokens that have their slots from a step that failed
                self.manager.extend(generation.id, max(0, missing))
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

    def _refuse_stranger(self, generation: Generation) -> None:
        if generation not in self.running and generation not in self.waiting:
            raise UsageError(f"request {generation.id!r} neither waits nor runs in this engine")
