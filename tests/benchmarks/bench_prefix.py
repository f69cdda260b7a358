"""Microseconds per request of the prefix caches, beside transformers' block manager and a bare-Python floor.

python -m tests.benchmarks.bench_prefix [--requests 1000] [--rounds 5] [--json PATH]

The load is that of the course's performance page: each request has 1,024 tokens that all share, 50 to 300 of its own,
and 8 tokens of answer. It is served three ways: *hot* (32 requests in flight, so that the shared blocks have holders
all the time), *cold* (one in flight: the shared blocks lie in the free list whenever the next one comes) and *no
sharing* (32 in flight, all 1,024 tokens each request's own). A request is: look for its prefix, take blocks, publish
what a forward pass has written, append 8 tokens, publish what these filled, free. The systems take turns within each
round, since only ratios within one run mean anything; a figure is the median over rounds of the total over requests.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import deque
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import NamedTuple, Protocol

from kvlab.memory import BlockManager, History, PrefixCache, RadixCache, prompt_tokens, shared_prefix
from tests.benchmarks import command
from tests.benchmarks.memory_systems import BLOCK_SIZE, NUM_BLOCKS, Floor, FloorEntry, HuggingFace

RUNNING, ANSWER, VOCABULARY = 32, 8, 32_000


class Cost(NamedTuple):
    """Microseconds per request, and the share of prompt tokens that were found."""

    microseconds: float
    hits: float


class System(Protocol):
    """A block manager with a prefix cache. `begin` returns how many tokens were found."""

    def begin(self, number: int, prompt: list[int]) -> int: ...
    def answer(self, number: int, tokens: list[int]) -> None: ...
    def free(self, number: int) -> None: ...


class Ours:
    """kvlab's block manager with one of its two indexes, or none."""

    def __init__(self, make: Callable[..., PrefixCache | RadixCache] | None) -> None:
        self.manager = BlockManager(NUM_BLOCKS, BLOCK_SIZE)
        self.index = make(self.manager.pool, BLOCK_SIZE) if make else None
        self.said: dict[int, History] = {}

    def begin(self, number: int, prompt: list[int]) -> int:
        if self.index is None:
            self.manager.admit(number, len(prompt))
            return 0
        said = self.said[number] = History(prompt)
        found = self.index.match(said)
        self._publish(said, number, self.manager.admit(number, len(said), found.blocks))
        return found.num_tokens

    def answer(self, number: int, tokens: list[int]) -> None:
        append = self.manager.append
        for _ in tokens:
            append(number)
        if self.index is not None:
            said = self.said[number]
            full = len(said) // BLOCK_SIZE
            said.extend(tokens)
            if len(said) // BLOCK_SIZE > full:
                self._publish(said, number, self.manager.table(number))

    def _publish(self, said: History, number: int, table: list[int]) -> None:
        others = self.index.publish(said, table)  # type: ignore[union-attr]
        if others:
            self.manager.remap(number, others)

    def free(self, number: int) -> None:
        self.manager.free(number)
        self.said.pop(number, None)


class Peer(HuggingFace):
    """transformers' manager as its continuous batching uses it with sharing: match, store, mark what is complete."""

    sharing = True

    def begin(self, number: int, prompt: list[int]) -> int:
        state = self.request_state(request_id=str(number), initial_tokens=prompt)
        found = self.cache.search_prefix_match(state.request_id, prompt)
        state.position_offset = found
        self._store(state, len(prompt) - found)
        self.states[number] = state
        return found

    def answer(self, number: int, tokens: list[int]) -> None:
        state = self.states[number]
        for token in tokens:
            state.generated_tokens.append(token)
            self._store(state, 1)

    def _store(self, state, count: int) -> None:
        if not self.cache.can_store_request_tokens(state, count):
            self.cache.evict_cached_blocks()  # all of them, as its scheduler does
            if not self.cache.can_store_request_tokens(state, count):
                raise RuntimeError("no block is free")
        complete = self.cache.count_new_complete_blocks(state, count)
        self.allocator.get_write_indices(state.request_id, state.position_offset, count)
        state.position_offset += count
        self.cache.mark_complete_blocks(state, complete)


class FloorWithHashes(Floor):
    """The least of plain Python: a chain in one dictionary, no checks, and so many blocks that none is evicted."""

    def __init__(self) -> None:
        super().__init__()
        self.free_blocks, self.counts = deque(range(10 * NUM_BLOCKS)), [0] * (10 * NUM_BLOCKS)
        self.block_of: dict[bytes, int] = {}

    def begin(self, number: int, prompt: list[int]) -> int:
        data, key, table, keys = array("i", prompt).tobytes(), b"", [], []
        for start in range(0, len(data) - 4 * BLOCK_SIZE + 1, 4 * BLOCK_SIZE):
            key = hashlib.sha256(key + data[start : start + 4 * BLOCK_SIZE]).digest()
            keys.append(key)
        for key in keys[: (len(prompt) - 1) // BLOCK_SIZE]:
            block = self.block_of.get(key)
            if block is None:
                break
            self.counts[block] += 1
            table.append(block)
        found = len(table)
        while len(table) * BLOCK_SIZE < len(prompt):
            table.append(self.take())
        for block, key in zip(table[found:], keys[found:], strict=False):
            self.block_of[key] = block
        entry = self.entries[number] = FloorEntry(number, prompt)
        entry.length, entry.table = len(prompt), table
        return found * BLOCK_SIZE

    def answer(self, number: int, tokens: list[int]) -> None:
        for _ in tokens:
            self.append(number)

    def free(self, number: int) -> None:
        for block in reversed(self.entries.pop(number).table):
            self.counts[block] -= 1


SYSTEMS: dict[str, Callable[[], System]] = {
    "hash chain": lambda: Ours(PrefixCache),
    "radix tree": lambda: Ours(RadixCache),
    "no cache": lambda: Ours(None),
    "floor": FloorWithHashes,
    "Hugging Face": Peer,
}
LOADS = {"hot": (1024, RUNNING), "cold": (1024, 1), "no sharing": (0, RUNNING)}  # shared tokens, in flight


def make_load(requests: int, shared: int) -> list[list[int]]:
    """The prompts of one load. Without sharing each has 1,024 tokens more of its own."""
    own = (50, 300) if shared else (1074, 1324)
    return [
        prompt_tokens(request, VOCABULARY).tolist() for request in shared_prefix(requests, 0, max(1, shared), own=own)
    ]


def drive(system: System, prompts: list[list[int]], running: int) -> Cost:
    """Serve `prompts`, `running` at a time, first come first gone."""
    answer, flying, found = list(range(ANSWER)), deque[int](), 0
    began = process_time()
    for number, prompt in enumerate(prompts):
        if len(flying) == running:
            system.free(flying.popleft())
        found += system.begin(number, prompt)
        system.answer(number, answer)
        flying.append(number)
    while flying:
        system.free(flying.popleft())
    seconds = process_time() - began
    return Cost(seconds / len(prompts) * 1e6, found / sum(map(len, prompts)))


def compare(requests: int = 1000, rounds: int = 5) -> dict[str, dict[str, Cost]]:
    """The median cost of each installed system for each load, taking turns."""
    loads = {name: make_load(requests, shared) for name, (shared, _) in LOADS.items()}
    seen: dict[str, dict[str, list[Cost]]] = {name: {load: [] for load in LOADS} for name in SYSTEMS}
    for _ in range(rounds):
        for load, (_, running) in LOADS.items():
            for name, make in SYSTEMS.items():
                try:
                    system = make()
                except ImportError:
                    continue
                seen[name][load].append(drive(system, loads[load], running))
    return {
        name: {load: Cost(*map(median, zip(*costs, strict=True))) for load, costs in rows.items()}
        for name, rows in seen.items()
        if all(rows.values())
    }


def report(costs: dict[str, dict[str, Cost]]) -> str:
    """A table of microseconds per request, how many times the hash chain's each is, and hit rates."""
    lines = [f"{'us per request':14}" + "".join(f"{load:>24}" for load in LOADS) + f"{'cold / hot':>12}"]
    ours = costs["hash chain"]
    for name, row in costs.items():
        cells = "".join(
            f"{cost.microseconds:9.0f} {cost.microseconds / ours[load].microseconds:6.2f}x {cost.hits:6.1%}"
            for load, cost in row.items()
        )
        lines.append(f"{name:14}{cells}{row['cold'].microseconds / row['hot'].microseconds:12.2f}")
    return "\n".join(lines)


def main() -> None:
    options = command.parser(__doc__, requests=1000, rounds=5).parse_args()
    costs = compare(options.requests, options.rounds)
    print(report(costs))
    figures = {name: {load: cost._asdict() for load, cost in row.items()} for name, row in costs.items()}
    command.keep(figures, options.json)


if __name__ == "__main__":
    main()
