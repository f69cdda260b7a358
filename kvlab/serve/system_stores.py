"""Memories as other systems hand them out, for the simulator: what is found, what is claimed at admission, and when.

They extend `PagedStore`, so that the course's scheduler runs on each of them. Requests are those of a simulation
(`kvlab.serve.served.Served`), whose tokens follow from the trace.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kvlab.errors import OutOfBlocks
from kvlab.memory import BlockManager, HitRate, PrefixIndex, blocks_needed
from kvlab.memory.chunks import ChunkTier
from kvlab.memory.swap import Pairs

from .plan import Plan
from .stores import PagedStore
from .system_texts import Texts


class SharingStore(PagedStore):
    """Blocks that grow with the request, and an index in which later requests find them. Base of all the others.

    publish: "filled", as soon as a block is; "prefilled", after the prompt and at the end; "ended", at the end.
    answers: whether generated tokens are published too. adopt: whether a block that another replaces is given back at
    once (otherwise both stay until their owners end). hits: prompt tokens asked for and found.
    """

    def __init__(
        self,
        manager: BlockManager,
        texts: Texts,
        index: PrefixIndex | None = None,
        *,
        publish: str = "filled",
        answers: bool = True,
        adopt: bool = True,
    ) -> None:
        super().__init__(manager)
        self.index, self.texts, self.when, self.answers, self.adopt = index, texts, publish, answers, adopt
        self.hits = HitRate()
        self.copied = self.loaded = 0
        self._filed: dict[Hashable, int] = {}
        self._seen: set[Hashable] = set()
        self._to_load: Pairs = []

    def found(self, job: Any) -> int:
        """How many tokens of a job that waits are there already."""
        return self.index.match(self.texts.said(job.id, job.length)).num_tokens if self.index is not None else 0

    def admit(self, job: Any, spare: int) -> int:
        """Blocks for the job, while `spare` and whatever is promised stay free; returns how many tokens are there."""
        blocks = self._match(job)
        held = sum(self.manager.pool.ref_count(block) > 0 for block in blocks)
        needed = self._claim(job) - held + spare
        if needed > self.num_free:
            raise OutOfBlocks(needed, self.num_free)
        self.manager.admit(job.id, self._room(job), blocks)
        whole = len(blocks) * self.block_size
        return self._entered(job, whole + self._more(job, whole))

    def _match(self, job: Any) -> list[int]:
        return self.index.match(self.texts.said(job.id, job.length)).blocks if self.index is not None else []

    def _claim(self, job: Any) -> int:
        """Blocks that must be free or found for the job to be admitted."""
        return blocks_needed(self._room(job), self.block_size)

    def _room(self, job: Any) -> int:
        """Tokens that it gets room for at once."""
        return job.length

    def _more(self, job: Any, whole: int) -> int:
        """Tokens that are there besides the `whole` blocks that are shared."""
        return 0

    def _entered(self, job: Any, found: int) -> int:
        self.hits.record(job.prompt, min(found, job.prompt), again=job.id in self._seen)
        self._seen.add(job.id)
        self._filed[job.id] = 0
        return found

    def written(self, plan: Plan) -> None:
        """A step has written its tokens: those whose blocks are to be published now, are."""
        if self.when == "filled":
            for job in plan.decoding:
                self.publish(job, self.num_tokens(job.id))
        for chunk in plan.chunks:
            if self.when == "filled" or self.when == "prefilled" and chunk.last:
                self.publish(chunk.job, chunk.stop)

    def leaving(self, job: Any) -> None:
        """A job that runs has all its tokens, and is about to give back its blocks."""
        self.publish(job, self.num_tokens(job.id))

    def publish(self, job: Any, written: int) -> None:
        """Let others find what the job has written, as far as its blocks are full (I8)."""
        full = (written if self.answers else min(written, job.prompt)) // self.block_size
        if self.index is None or full <= self._filed.get(job.id, 0):
            return
        self._filed[job.id] = full
        others = self.index.publish(self.texts.said(job.id, full * self.block_size), self.manager.table(job.id)[:full])
        if others and self.adopt:
            self.manager.remap(job.id, others)

    def slots(self, job_id: Hashable) -> int:
        """Slots of the blocks in its table."""
        return blocks_needed(self.manager.num_tokens(job_id), self.block_size) * self.block_size

    def take_loads(self) -> Pairs:
        """Copies from a host that this step must make before it runs, a nameless pair for each block."""
        loads, self._to_load = self._to_load, []
        return loads

    def most_needed(self, prompt: int, answer: int) -> int:
        """Tokens that a request of these lengths may need room for at once: what it must fit with (I10)."""
        return prompt + max(1, answer) - 1

    def check(self) -> None:
        """Walk the manager and the index."""
        super().check()
        if self.index is not None:
            self.index.check()


class ChunkedStore(SharingStore):
    """LMCache below vLLM: what the pool does not find is looked up in a host tier of chunks, and loaded from there."""

    def __init__(self, *args: Any, tier: ChunkTier, **options: Any) -> None:
        super().__init__(*args, **options)
        self.tier = tier

    def _more(self, job: Any, whole: int) -> int:
        more = max(0, self.tier.match(self.texts.said(job.id, job.length)) - whole)
        self.loaded += more
        self._to_load += [(0, 0)] * blocks_needed(more, self.block_size)
        return more

    def written(self, plan: Plan) -> None:
        """As the others, and prompts that are computed are stored on the host; answers are not."""
        super().written(plan)
        for chunk in plan.chunks:
            if chunk.last:
                self.tier.store(self.texts.said(chunk.job.id, chunk.stop), min(chunk.stop, chunk.job.prompt))

    def check(self) -> None:
        """Walk everything, the tier too."""
        super().check()
        self.tier.check()
