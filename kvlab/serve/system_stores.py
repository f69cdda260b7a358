"""Memories as other systems hand them out, for the simulator: what is found, what is claimed at admission, and when.

They extend `PagedStore`, so that the course's scheduler runs on each of them. Requests are those of a simulation
(`kvlab.serve.simulate.Served`), whose tokens follow from the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from kvlab.errors import OutOfBlocks
from kvlab.memory import (
    BlockManager,
    BlockPool,
    HitRate,
    PrefixIndex,
    RadixCache,
    blocks_needed,
)
from kvlab.memory.chunks import ChunkTier
from kvlab.memory.partial import match_partly
from kvlab.memory.retention import HIGHEST, RetentionPool
from kvlab.memory.swap import Pairs

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

    def written(self, plan: Any) -> None:
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


class UpfrontStore(SharingStore):
    """TGI: a request gets room for its prompt and `most` new tokens at once, keeps it, and never has to leave."""

    def __init__(self, *args: Any, most: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self.most = most
        self._tokens: dict[Hashable, int] = {}

    def most_needed(self, prompt: int, answer: int) -> int:
        """The prompt and all new tokens that it asks for, but the last, which is not stored."""
        return prompt + max(self.most, answer, 1) - 1

    def _room(self, job: Any) -> int:
        return self.most_needed(job.prompt, job.answer)

    def _entered(self, job: Any, found: int) -> int:
        self._tokens[job.id] = job.length
        return super()._entered(job, found)

    def append_each(self, ids: Collection[Hashable]) -> tuple[list[int], Pairs]:
        """Everybody has room already."""
        for job_id in ids:
            self._tokens[job_id] += 1
        return [], []

    def num_tokens(self, job_id: Hashable) -> int:
        """Tokens that it has, of those that there is room for."""
        return self._tokens[job_id]

    def free(self, job_id: Hashable) -> None:
        """Give back all blocks of a job."""
        super().free(job_id)
        del self._tokens[job_id]


class PromiseStore(SharingStore):
    """TensorRT-LLM: blocks come one by one, but only who can run to the end without anybody leaving is admitted.

    most: new tokens that a request asks for. retain: a job's first tokens, whose blocks get the highest priority.
    partly: whether a block that fits in part is copied.
    """

    index: RadixCache | None

    def __init__(
        self, *args: Any, most: int, retain: Callable[[Any], int], partly: bool = True, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.most, self.retain, self.partly = most, retain, partly
        self._promised: dict[Hashable, int] = {}
        self._extra = 0

    def most_needed(self, prompt: int, answer: int) -> int:
        """As for `UpfrontStore`."""
        return prompt + max(self.most, answer, 1) - 1

    def admit(self, job: Any, spare: int) -> int:
        """As the others; the block to be copied from is held meanwhile, if there is room enough to do so."""
        source, extra = self._source(job)
        pool = self.manager.pool
        if source is not None:
            pool.share([source])
        self._extra = extra
        try:
            return super().admit(job, spare)
        except OutOfBlocks:
            if source is None:
                raise
        finally:
            if source is not None:
                pool.release([source])
        self._extra = 0
        return super().admit(job, spare)

    def _source(self, job: Any) -> tuple[int | None, int]:
        if self.index is None or not self.partly:
            return None, 0
        match = match_partly(self.index, self.texts.said(job.id, job.length))
        return match.source, match.extra

    def _claim(self, job: Any) -> int:
        still = sum(blocks - len(self.manager.table(job_id)) for job_id, blocks in self._promised.items())
        return blocks_needed(self.most_needed(job.prompt, job.answer), self.block_size) + still

    def _more(self, job: Any, whole: int) -> int:
        self.copied += self._extra
        return self._extra

    def _entered(self, job: Any, found: int) -> int:
        self._promised[job.id] = blocks_needed(self.most_needed(job.prompt, job.answer), self.block_size)
        return super()._entered(job, found)

    def publish(self, job: Any, written: int) -> None:
        """As the others, and the blocks of the first tokens get their priority."""
        super().publish(job, written)
        pool, kept = self.manager.pool, min(self.retain(job), written) // self.block_size
        if isinstance(pool, RetentionPool) and kept:
            pool.retain(self.manager.table(job.id)[:kept], HIGHEST)

    def free(self, job_id: Hashable) -> None:
        """Give back all blocks of a job, and the promise."""
        super().free(job_id)
        del self._promised[job_id]


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

    def written(self, plan: Any) -> None:
        """As the others, and prompts that are computed are stored on the host; answers are not."""
        super().written(plan)
        for chunk in plan.chunks:
            if chunk.last:
                self.tier.store(self.texts.said(chunk.job.id, chunk.stop), min(chunk.stop, chunk.job.prompt))

    def check(self) -> None:
        """Walk everything, the tier too."""
        super().check()
        self.tier.check()


def pages(capacity: int, block_size: int, pool: type[BlockPool] = BlockPool) -> BlockManager:
    """A manager of `capacity // block_size` blocks."""
    return BlockManager(pool(capacity // block_size), block_size)


def fewest_written(store: SharingStore) -> Callable[[Sequence[Any]], Any]:
    """SGLang's victim: who has generated least, of equals the longest prompt; never the first in order (I11)."""

    def victim(running: Sequence[Any]) -> Any:
        def written(job: Any) -> tuple[int, int]:
            return max(store.num_tokens(job.id) - job.prompt, 0), -job.prompt

        return min(running[1:], key=written)

    return victim
