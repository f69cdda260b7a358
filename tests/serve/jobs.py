"""Jobs of integers, and a loop that runs them as an engine would, with every promise of the scheduler checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kvlab.memory import BlockManager, slot_mapping
from kvlab.serve.plan import Plan
from kvlab.serve.scheduler import Scheduler
from kvlab.serve.stores import PagedStore


@dataclass(eq=False)
class Ask:
    """A request whose next token is `token(tokens so far)`, so that one lost or doubled changes all that follow."""

    id: Any
    prompt: list[int]
    answer: int
    arrival: Any = (0, 0)
    priority: int = 0
    computed: int = 0
    state: str = ""
    tokens: list[int] = field(default_factory=list)
    group: Any = None

    @property
    def length(self) -> int:
        return len(self.prompt) + len(self.tokens)

    @property
    def ids(self) -> list[int]:
        return self.prompt + self.tokens

    @property
    def seats(self) -> int:
        return self.group.width if self.group is not None and self is self.group.stem else 1


class Branches:
    """`width` branches of one prompt. Together, they swap places after every token, as the beams of a search do."""

    def __init__(self, stem: Ask, width: int, together: bool) -> None:
        self.stem, self.width, self.together = stem, width, together
        self.jobs: list[Ask] = []
        self.made = 0
        stem.group = self

    def branch(self, tokens: list[int], number: int) -> Ask:
        stem, self.made = self.stem, self.made + 1
        arrival = (stem.arrival[0], self.made if self.together else number)
        name = (stem.id, self.made)
        return Ask(name, stem.prompt, stem.answer, arrival, stem.priority, tokens=tokens, group=self)

    def restart(self) -> Ask:
        self.jobs = []
        return self.stem


def token(ids: list[int], salt: int = 0) -> int:
    """What a model of integers says after `ids`: it depends on each of them and on its place."""
    return (sum((place + 1) * (value + 1) for place, value in enumerate(ids)) + 31 * salt) % 9973


def turned(answers: list[list[int]], step: int) -> list[list[int]]:
    """The branches' answers, each now that of another: some twice, some lost."""
    return [list(answers[(number * number + step) % len(answers)]) for number in range(len(answers))]


def alone(ask: Ask) -> list[int]:
    """The answer to a request that is served by itself."""
    ids = list(ask.prompt)
    for _ in range(ask.answer):
        ids.append(token(ids))
    return ids[len(ask.prompt) :]


def alone_together(ask: Ask, width: int, together: bool) -> list[list[int]]:
    """The answers of `width` branches of a request that is served by itself."""
    answers: list[list[int]] = [[] for _ in range(width)]
    for step in range(ask.answer):
        if together and step:
            answers = turned(answers, step)
        for number, answer in enumerate(answers):
            answer.append(token([*ask.prompt, *answer], number))
    return answers


class Served:
    """Runs a scheduler on memories of integers: every slot of the pools, and of the host, holds (token, position)."""

    def __init__(self, blocks: int | BlockManager, block_size: int = 4, host: int = 0, **options: Any) -> None:
        self.manager = blocks if isinstance(blocks, BlockManager) else BlockManager(blocks, block_size)
        num_blocks = self.manager.pool.num_blocks
        self.store = PagedStore(self.manager, host)
        self.scheduler = Scheduler(self.store, **options)
        self.pool: list[Any] = [None] * (num_blocks * block_size)
        self.host: list[Any] = [None] * (host * block_size)
        self.finished: list[Ask] = []
        self.steps = self.copied = 0
        self._arrivals = 0

    def submit(self, prompt: list[int] | int, answer: int, priority: int = 0, width: int = 1, together: bool = False):
        number = self._arrivals
        self._arrivals += 1
        ids = [number * 100 + i for i in range(prompt)] if isinstance(prompt, int) else prompt
        ask = Ask(number, ids, answer, (number, 0), priority)
        if width > 1:
            Branches(ask, width, together)
        self.scheduler.submit(ask)
        return ask

    def step(self) -> Plan:
        plan = self.scheduler.schedule()
        self.execute(plan)
        self.scheduler.commit(plan)
        self.sample(plan)
        self.steps += 1
        self.check()
        return plan

    def run(self, limit: int = 10_000) -> None:
        while self.scheduler.has_work:
            assert self.step().num_tokens, "a step with work to do ran nothing"
            assert self.steps < limit

    def execute(self, plan: Plan) -> None:
        """Copy and write; nobody writes a block that others hold (I5)."""
        self._copy(plan)
        for job, slot in zip(plan.decoding, plan.slots, strict=True):
            table = self.manager.table(job.id)
            assert [slot] == slot_mapping(table, job.length - 1, job.length, self.manager.block_size)
            self._write(job, job.length - 1, slot)
        for job, start, stop, last in plan.chunks:
            for position, slot in enumerate(self.manager.slots(job.id, start, stop).tolist(), start):
                self._write(job, position, slot)
            assert last == (stop == job.length)

    def sample(self, plan: Plan) -> None:
        """Read everything through the tables, as attention would, and say a token each."""
        ends = plan.decoding + [chunk.job for chunk in plan.chunks if chunk.last]
        for group in {id(job.group): job.group for job in ends if job.group is not None}.values():
            self._turn(group, [job for job in ends if job.group is group])
        for job in ends:
            if job.state == "running" and (job.group is None or not job.group.together):
                if job.group is None or job.tokens:  # branches have their first token from their stem
                    self._say(job)

    def _say(self, job: Ask) -> None:
        job.tokens.append(token(self._read(job), max(0, job.arrival[1] - 1)))
        if len(job.tokens) == job.answer:
            self._finish(job)

    def _finish(self, job: Ask) -> None:
        self.scheduler.end(job)
        self.finished.append(job)

    def _turn(self, group: Branches, ran: list[Ask]) -> None:
        """A stem is forked into its branches; branches that go together are forked into the next ones."""
        if group.stem in ran:
            old, children = [group.stem] * group.width, [group.branch([], number + 1) for number in range(group.width)]
        elif group.together:
            assert {*ran} == {*group.jobs}, "some went on without the others"
            order = turned([[number] for number in range(group.width)], len(group.jobs[0].tokens))
            old = [group.jobs[parent] for (parent,) in order]
            children = [group.branch(list(parent.tokens), 0) for parent in old]
        else:
            return
        for parent, child in zip(old, children, strict=True):
            self.scheduler.fork(parent, [child])
        for job in {*group.jobs, *old}:
            self.scheduler.end(job)
        group.jobs = children
        for number, job in enumerate(children):
            job.tokens.append(token(self._read(job), number))
            if len(job.tokens) == job.answer:
                self._finish(job)

    def _read(self, job: Ask) -> list[int]:
        """The tokens of a job as its table has them."""
        seen = [self.pool[slot] for slot in self.manager.slots(job.id, 0, job.length).tolist()]
        assert [position for _, position in seen] == list(range(job.length))
        return [value for value, _ in seen]

    def _write(self, job: Ask, position: int, slot: int) -> None:
        assert self.manager.pool.ref_count(slot // self.manager.block_size) == 1
        self.pool[slot] = job.ids[position], position

    def _copy(self, plan: Plan) -> None:
        for pairs, source, target in (
            (plan.swap_out, self.pool, self.host),
            (plan.swap_in, self.host, self.pool),
            (plan.copies, self.pool, self.pool),
        ):
            size = self.manager.block_size
            read = [source[a * size : (a + 1) * size] for a, _ in pairs]
            for block, (_, b) in zip(read, pairs, strict=True):
                target[b * size : (b + 1) * size] = block
            assert len({b for _, b in pairs}) == len(pairs)
            self.copied += len(pairs) * (source is not target)
            pairs.clear()

    def check(self) -> None:
        """Walk everything, and that blocks are held for those who run and nobody else."""
        self.store.check()
        scheduler = self.scheduler
        assert set(self.manager) == {job.id for job in scheduler.running}
        swapped = {job.id for job in scheduler.waiting if job.state == "swapped"}
        assert swapped == set(self.store.swapper or ())
        assert scheduler.waiting == sorted(scheduler.waiting, key=scheduler.policies.order)

    @property
    def idle(self) -> bool:
        """Whether nobody is left and nothing is held, here and on the host."""
        host = self.store.swapper is None or self.store.swapper.host.num_free == self.store.swapper.host.num_blocks
        return not self.scheduler.has_work and self.manager.pool.num_free == self.manager.pool.num_blocks and host
