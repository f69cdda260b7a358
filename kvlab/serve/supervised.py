"""An engine on parts that may fail: what goes wrong is told to whoever brought them, and the requests go on without it.

The engine does not know who made a part. It asks `Supplier` for its manager, index, attention and the rest, and if a
step fails, whether another part has taken the place of the one that failed. Then everything is built anew, and each
request runs its prompt and the tokens it has got so far again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Protocol

import torch
from transformers import PreTrainedModel

from kvlab.compute import PagedAttention, choose_backend
from kvlab.memory import BlockManager, PrefixIndex

from .engine import Engine
from .policies import Policies
from .request import Generation
from .scheduler import Scheduler, Stuck


class Supplier(Protocol):
    """Where a `SupervisedEngine` has its parts from. What is None is left to the engine's own."""

    @property
    def scheduler_type(self) -> type[Scheduler]: ...

    def manager(self, num_blocks: int, block_size: int) -> BlockManager: ...

    def index(self, manager: BlockManager) -> PrefixIndex | None: ...

    def attention(self, finished: PagedAttention) -> PagedAttention | None: ...

    def writer(self) -> Callable[..., None] | None: ...

    def policies(self, block_size: int, swaps: bool) -> Policies: ...

    def swap_plan(self) -> Callable[..., Any]: ...

    def failed(self, trouble: Exception) -> bool:
        """Whether something has been replaced because of `trouble`, so that beginning anew can help."""
        ...

    def changed(self, generation: Generation, wrong: int) -> None:
        """A failed part has cost a request its last `wrong` tokens, which are computed again."""
        ...


class SupervisedEngine(Engine):
    """An `Engine` whose parts come from `supplier`, `checked` at every step. The other options are those of `Engine`.

    parts: the supplier. restarts: how often everything was built anew.

    A request that is refused, or a pool in which one request alone cannot go on (`Stuck`), is no fault of a part.
    """

    def __init__(
        self, model: PreTrainedModel, num_blocks: int, block_size: int = 16, *, supplier: Supplier, **options: Any
    ) -> None:
        self.parts = supplier
        self._arguments = model, num_blocks, block_size
        self._options = options
        self.restarts = 0
        self._build()

    def step(self) -> list[Generation]:
        """As `Engine.step`; none, if it failed and a part was replaced."""
        try:
            return super().step()
        except Stuck:
            raise
        except Exception as trouble:
            if not self.parts.failed(trouble):
                raise
        self._restart()
        return []

    def _build(self) -> None:
        (model, num_blocks, block_size), supplier = self._arguments, self.parts
        self.scheduler_type = supplier.scheduler_type
        self._decided, self._in_step = None, False
        manager = supplier.manager(num_blocks, block_size)
        policies = supplier.policies(block_size, bool(self._options.get("host_blocks")))
        super().__init__(
            model, num_blocks, block_size,
            manager=manager, prefix=supplier.index(manager), policies=policies, checked=True,
            attention=supplier.attention(choose_backend(model.device).attention), **self._options,
        )  # fmt: skip
        self.paged.write_with(supplier.writer())
        if self.store.swapper is not None:
            self.store.swapper.plan = supplier.swap_plan()

    def _restart(self) -> None:
        """Build everything anew and queue all requests with the tokens they have; what they had computed is lost."""
        line, before = self._line, self.scheduler
        jobs = list({id(job): job for job in line.everybody}.values())
        self._build()
        self.restarts += 1
        for count in ("preemptions", "swaps", "recomputed_tokens"):
            setattr(self.scheduler, count, getattr(before, count))
        self._line.ended = line.ended
        self._line.number_from(1 + max((job.came for job in jobs), default=-1))
        for job in jobs:
            if job.finished:
                self._line.ended[str(job.reason)] += job.reason != "forked"
                job.state = "ended"
                continue
            self._verify(job)
            job.state = ""
            self.scheduler.requeue(job)

    def _verify(self, job: Generation) -> None:
        """Take back the tokens of a greedy answer that the model itself does not give."""
        if not job.tokens or job.group is not None or not job.sampling.greedy:
            return
        model = self._arguments[0]
        with torch.inference_mode():
            logits = model(torch.tensor([[*job.prompt, *job.tokens]], device=model.device)).logits[0]
        best = logits[len(job.prompt) - 1 : -1].argmax(-1).tolist()
        same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(job.tokens, best, strict=True)))
        if same < len(job.tokens):
            self.parts.changed(job, len(job.tokens) - same)
            del job.tokens[same:]
