"""Failures of other systems' prefix caches that ours must not have (FAILURES.md F1, F2, F3, F5, F6, F8, F9, F10)."""

from __future__ import annotations

import random

import pytest

from kvlab.errors import OutOfBlocks
from kvlab.memory import INDEXES, BlockManager, RadixCache, make_index
from tests.memory.snapshots import snapshot

B = 4


class Server:
    """Tables, an index, and a memory of tokens, in which a forward pass writes."""

    def __init__(self, kind: str, num_blocks: int) -> None:
        self.manager = BlockManager(num_blocks, B)
        self.pool, self.memory = self.manager.pool, {}
        self.index = make_index(kind, self.pool, B)

    def admit(self, name: str, tokens: list[int], tag: tuple = ()) -> int:
        match = self.index.match(tokens, tag)
        self.manager.admit(name, len(tokens), match.blocks)
        return match.num_tokens

    def forward(self, name: str, tokens: list[int], found: int = 0, tag: tuple = (), remap: bool = True) -> None:
        """Compute what was not found, then publish."""
        for position, slot in enumerate(self.manager.slots(name, found).tolist(), found):
            self.memory[slot] = tokens[: position + 1], tag
        others = self.index.publish(tokens, self.manager.table(name), tag)
        if remap:
            self.manager.remap(name, others)
        self.index.check()
        self.manager.check()

    def serve(self, name: str, tokens: list[int], tag: tuple = ()) -> int:
        found = self.admit(name, tokens, tag)
        self.forward(name, tokens, found, tag)
        return found

    def reads(self, name: str) -> list[tuple[list[int], tuple]]:
        return [self.memory[slot] for slot in self.manager.slots(name).tolist()]


def right(tokens: list[int], tag: tuple = ()) -> list[tuple[list[int], tuple]]:
    return [(tokens[: n + 1], tag) for n in range(len(tokens))]


@pytest.fixture(params=INDEXES)
def kind(request) -> str:
    return request.param


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_f1_a_prompt_of_whole_blocks_sent_twice_computes_a_token_and_its_chain_stays_cached(kind, blocks) -> None:
    server, prompt = Server(kind, 12), list(range(blocks * B))
    server.serve("a", prompt)
    chain = server.manager.table("a")
    server.manager.free("a")
    found = server.serve("b", prompt)
    assert found == (blocks - 1) * B < len(prompt)
    assert server.reads("b") == right(prompt)
    assert server.manager.table("b") == chain  # the last block was computed anew, and given back for the one there was
    server.manager.free("b")
    assert server.index.match([*prompt, 0]).blocks == chain and server.pool.num_cached == blocks


def test_f2_hits_that_lie_in_the_free_list_count_in_what_admission_needs_and_a_refusal_changes_nothing(kind) -> None:
    """Five blocks are free, four new ones are needed, and two hits lie among the five: six are needed."""
    server, prompt = Server(kind, 6), list(range(6 * B))
    server.manager.admit("somebody", 1)
    server.serve("a", prompt[: 2 * B])
    server.manager.free("a")
    assert server.pool.num_free == 5
    match = server.index.match(prompt)
    assert len(match.blocks) == 2
    before = snapshot(server.manager)
    with pytest.raises(OutOfBlocks, match="needed 6 free blocks, there were 5"):
        server.manager.admit("b", len(prompt), match.blocks)
    assert snapshot(server.manager) == before
    server.index.check()
    server.manager.admit("b", len(prompt) - B, match.blocks)  # one block less fits
    server.manager.check()


def test_f3_an_abort_before_the_forward_pass_leaves_nothing_that_others_could_hit(kind) -> None:
    server, prompt = Server(kind, 12), list(range(3 * B))
    server.admit("aborted", prompt)
    assert server.admit("meanwhile", prompt) == 0
    server.manager.free("aborted")
    assert server.index.match([*prompt, 0]).num_tokens == 0
    assert server.pool.num_cached == 0
    server.forward("meanwhile", prompt)
    assert server.reads("meanwhile") == right(prompt)


def test_f3_an_abort_after_half_the_prompt_leaves_the_half_that_is_written(kind) -> None:
    server, prompt = Server(kind, 12), list(range(4 * B))
    server.admit("aborted", prompt)
    slots = server.manager.slots("aborted", 0, 2 * B + 1).tolist()
    server.memory.update({slot: (prompt[: n + 1], ()) for n, slot in enumerate(slots)})
    server.index.publish(prompt, server.manager.table("aborted")[:2])
    server.manager.free("aborted")
    found = server.serve("next", prompt)
    assert found == 2 * B and server.reads("next") == right(prompt)


def test_f5_the_old_text_of_a_block_that_was_reused_is_not_found_any_more(kind) -> None:
    server, old, new = Server(kind, 3), list(range(3 * B)), list(range(100, 100 + 3 * B))
    server.serve("old", old)
    server.manager.free("old")
    server.serve("new", new)
    assert server.index.match([*old, 0]).num_tokens == 0
    server.manager.free("new")
    assert server.serve("again", old) == 0 and server.reads("again") == right(old)


def test_f5_what_is_left_of_a_chain_is_its_head(kind) -> None:
    server, old = Server(kind, 3), list(range(3 * B))
    server.serve("old", old)
    server.manager.free("old")
    server.serve("new", [7] * B)  # takes one block: the tail's
    assert server.index.match([*old, 0]).num_tokens == 2 * B


@pytest.mark.parametrize(
    "one, other",
    [
        (("X", None), (None, "X")),
        (("X",), ("X", None)),
        (("X", "Y"), ("XY", "")),
        (("X", "Y"), ("X", "Y", "image")),
        ((1,), ("1",)),
        ((1,), (True,)),
        ((("X",), "Y"), ("X", ("Y",))),
    ],
)
def test_f6_equal_tokens_under_tags_that_only_look_alike_are_no_hit(kind, one, other) -> None:
    server, prompt = Server(kind, 12), list(range(2 * B))
    server.serve("a", prompt, one)
    assert server.serve("b", prompt, other) == 0
    assert server.index.match([*prompt, 0]).num_tokens == 0  # nor without any tag
    assert server.index.match([*prompt, 0], one).num_tokens == 2 * B
    assert (server.reads("a"), server.reads("b")) == (right(prompt, one), right(prompt, other))


def test_f8_a_conversation_that_goes_on_finds_what_was_generated_too(kind) -> None:
    server, prompt, answer = Server(kind, 20), list(range(2 * B + 1)), list(range(50, 50 + 2 * B))
    server.serve("turn 1", prompt)
    server.manager.extend("turn 1", len(answer))
    server.forward("turn 1", prompt + answer)
    server.manager.free("turn 1")
    assert server.serve("turn 2", [*prompt, *answer, 1, 2]) == 4 * B
    assert server.serve("another answer", [*prompt, *reversed(answer), 1, 2]) == 2 * B


def test_f9_of_two_who_compute_the_same_prefix_at_once_the_loser_names_the_winners_blocks_for_good(kind) -> None:
    server, prompt = Server(kind, 9), list(range(2 * B + 1))
    server.admit("winner", prompt)
    server.admit("loser", prompt)
    own = server.manager.table("loser")[:2]
    server.forward("winner", prompt)
    server.forward("loser", prompt)
    assert server.manager.table("loser")[:2] == server.manager.table("winner")[:2]
    assert all(server.pool.ref_count(block) == 0 for block in own)  # one copy is freed
    server.manager.free("winner")
    other = list(range(200, 200 + 4 * B))
    server.serve("reuses them", other)
    assert set(own) & set(server.manager.table("reuses them"))
    assert server.reads("loser") == right(prompt) and server.reads("reuses them") == right(other)
    server.manager.free("loser")
    server.manager.free("reuses them")
    assert server.pool.num_free == 9


@pytest.mark.parametrize("seed", range(20))
def test_f10_splitting_a_locked_node_and_unlocking_both_holders_keeps_what_can_be_evicted_right(seed: int) -> None:
    draw, manager = random.Random(seed), BlockManager(30, 1)
    cache = RadixCache(manager.pool, 1)
    cache.publish(list(range(6)), manager.admit("first", 6))
    locks = [cache.match([*range(length), 99]) for length in (draw.randint(1, 6), draw.randint(1, 6))]
    for match in locks:
        cache.lock(match)
    for number in range(3):  # each leaves the locked edge somewhere and splits it
        common = draw.randint(1, 5)
        tokens = [*range(common), *range(100 * number + 100, 100 * number + 103)]
        match = cache.match(tokens)
        manager.admit(number, len(tokens), match.blocks)
        cache.publish(tokens, manager.table(number))
        cache.check()
    for name in draw.sample(["first", 0, 1, 2], 4):
        manager.free(name)
        cache.check()
        assert 0 <= cache.evictable <= manager.pool.num_blocks
    still = {block for match in locks for block in match.blocks}
    assert cache.evictable == len(cache.blocks()) - len(still)
    for match in locks:
        cache.unlock(match)
        cache.check()
    assert cache.evictable == len(cache.blocks()) == cache.evict(99)
    assert manager.pool.num_free == 30
