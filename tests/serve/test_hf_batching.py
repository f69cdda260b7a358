"""The Hugging Face row against transformers' own scheduler, cache and offloading, step by step, and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import Request, Trace, multi_turn
from kvlab.serve.hf_batching import DECODING, HuggingFaceBatching, Sequence
from kvlab.serve.hf_run import run_hugging_face
from kvlab.serve.limits import NeverFits
from kvlab.serve.system_runs import Machine
from kvlab.serve.system_texts import Texts

PAGE = 4


class Peer:
    """transformers' own parts, driven as its `ContinuousBatchProcessor` drives them, without a model."""

    def __init__(self, num_blocks: int, kind: str, max_tokens: int, margin: float, share: bool) -> None:
        from transformers import ContinuousBatchingConfig, LlamaConfig
        from transformers.generation.continuous_batching.cache import PagedAttentionCache
        from transformers.generation.continuous_batching.distributed import DistributedHelper
        from transformers.generation.continuous_batching.offloading_manager import OffloadingManager
        from transformers.generation.continuous_batching.scheduler import SCHEDULER_MAPPING

        config = LlamaConfig(
            hidden_size=64, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=2, vocab_size=32_000
        )
        config._attn_implementation = "sdpa"
        sizes = ContinuousBatchingConfig(
            page_size=PAGE,
            num_blocks=num_blocks,
            max_batch_tokens=max_tokens,
            allow_block_sharing=share,
            max_memory_percent=0.5,
        )
        helper = DistributedHelper(None, 300.0)
        self.cache = PagedAttentionCache(config, sizes, "cpu", helper)
        assert self.cache.num_sectors == self.cache.num_blocks == num_blocks
        self.scheduler = SCHEDULER_MAPPING[kind](self.cache, margin, 1024)
        self.offloading = OffloadingManager(self.cache, self.scheduler, 0.0, 0.8, None, helper)
        self.max_tokens, self.preemptions = max_tokens, 0

    def submit(self, number: int, tokens: list[int], answer: int) -> None:
        from transformers.generation.continuous_batching.requests import RequestState

        self.scheduler.add_waiting_request(RequestState(str(number), tokens, max_new_tokens=answer))

    def next_batch(self) -> list:
        scheduler = self.scheduler
        batch, *_ = scheduler.schedule_batch(self.max_tokens, self.cache.max_tokens_read)
        while batch is None:
            self._leave()
            batch, *_ = scheduler.schedule_batch(self.max_tokens, self.cache.max_tokens_read)
        if scheduler.starved_requests:
            self._leave()
        return batch

    def _leave(self) -> None:
        active = len(self.scheduler.active_requests)
        self.offloading.offload_requests()
        self.preemptions += active - len(self.scheduler.active_requests)

    def ran(self, batch: list, token_of) -> None:
        """What `update_batch` does, with the trace's tokens for sampled ones."""
        for future in batch:
            future.state.position_offset += future.query_length
        for future in batch:
            state, finished = future.state, False
            if future.has_new_token:
                finished = state.update_and_check_completion(token_of(state), None)
            self.cache.mark_complete_blocks(state, future.complete_blocks)
            if finished:
                self.scheduler.finish_request(state.request_id)
                self.scheduler.block_new_requests = False


def both(trace: Trace, num_blocks: int, kind: str, max_tokens: int, margin: float, share: bool, every: int) -> int:
    """Run both to the end, a new request every `every` steps; compare each step. Returns the preemptions."""
    options = {"kind": kind, "max_tokens": max_tokens, "margin": margin, "share": share}
    mine = HuggingFaceBatching(num_blocks, PAGE, Texts(trace), **options)
    peer, texts = Peer(num_blocks, kind, max_tokens, margin, share), Texts(trace)
    whole = [list(texts.said(number, request.total))[: request.total] for number, request in enumerate(trace)]

    def token_of(state) -> int:
        return whole[int(state.request_id)][len(state.initial_tokens) + len(state.generated_tokens)]

    step = 0
    while step < 5000:
        number, due = divmod(step, every)
        if not due and number < len(trace):
            request = trace.requests[number]
            mine.submit(Sequence(number, request.prompt, request.answer))
            peer.submit(number, whole[number][: request.prompt], request.answer)
        if not (mine.active or mine.waiting) and number >= len(trace):
            return mine.preemptions
        step += 1
        if not (mine.active or mine.waiting):
            continue
        batch, theirs = mine.next_batch(), peer.next_batch()
        assert [(str(w.sequence.id), w.tokens, w.samples) for w in batch] == [
            (future.state.request_id, future.query_length, future.has_new_token) for future in theirs
        ]
        mine.ran(batch)
        peer.ran(theirs, token_of)
        mine.check()
        allocator = next(iter(peer.cache.cache_allocators.values()))
        assert mine.pool.num_cached == len(allocator.ledger.cached_blocks)
        assert mine.num_free / num_blocks == peer.cache.compute_free_capacity()
        assert mine.preemptions == peer.preemptions
        assert [str(one.id) for one in mine.waiting] == list(peer.scheduler.waiting_requests_order)
    raise AssertionError("5,000 steps were not enough")


def overlapping(lengths: list[tuple[int, int, int]]) -> Trace:
    """Requests of (text, prompt, answer); those of one text begin alike, and repeat each other's answers never."""
    rows = (Request(prompt, answer, 0.0, ((text, prompt),)) for text, prompt, answer in lengths)
    return Trace("overlapping", tuple(rows))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 24), st.integers(1, 12)), min_size=1, max_size=10),
    st.integers(9, 24),
    st.sampled_from(["fifo", "prefill_first"]),
    st.sampled_from([1, 3, 8, 64]),
    st.sampled_from([0.0, 0.15, 0.5]),
    st.booleans(),
    st.sampled_from([1, 1, 3]),
)
def test_every_step_is_that_of_transformers(lengths, num_blocks, kind, max_tokens, margin, share, every):
    both(overlapping(lengths), num_blocks, kind, max_tokens, margin, share, every)


def test_under_pressure_requests_leave_in_both_and_as_often():
    lengths = [(number % 3, 12 + number, 20) for number in range(8)]
    assert both(overlapping(lengths), 14, "fifo", 16, 0.15, True, 1) > 2


def test_by_hand_who_finds_no_block_is_passed_over_and_the_newest_starved_begins_again_last():
    # Four blocks of 4; two requests of 8 tokens decode: each needs a third block at once, and none is free.
    trace = overlapping([(0, 8, 3), (1, 8, 3), (2, 1, 1)])
    batching = HuggingFaceBatching(4, PAGE, Texts(trace), max_tokens=64, margin=0.0, share=False)
    for number, request in enumerate(trace.requests[:2]):
        batching.submit(Sequence(number, request.prompt, request.answer))
    batching.ran(batching.next_batch())
    batching.submit(Sequence(2, 1, 1))
    batch = batching.next_batch()  # nobody can run: the second leaves, and waits behind the third
    assert [(work.sequence.id, work.tokens) for work in batch] == [(0, 1)] and batching.preemptions == 1
    assert [one.id for one in batching.waiting] == [2, 1] and batching.blocked
    assert batching.waiting[1].prompt == 9 and batching.waiting[1].generated == 1
    assert [one.id for one in batching.ran(batch)] == []
    assert [one.id for one in batching.ran(batching.next_batch())] == [0] and not batching.blocked
    assert [work.sequence.id for work in batching.next_batch()] == [2, 1]


def test_by_hand_few_free_blocks_drop_all_that_is_cached_and_stop_prompts_behind_the_first():
    trace = overlapping([(0, 8, 1), (1, 4, 1), (2, 4, 1)])
    batching = HuggingFaceBatching(4, PAGE, Texts(trace), max_tokens=64, margin=0.75)
    batching.submit(Sequence(0, 8, 2))
    batching.ran(batching.next_batch())
    batching.ran(batching.next_batch())
    assert batching.pool.num_cached == 2 and batching.num_free == 2
    for number in (1, 2):
        batching.submit(Sequence(number, 4, 2))
    batch = batching.next_batch()
    assert batching.pool.num_cached == 0 and [work.sequence.id for work in batch] == [1, 2]
    batching.ran(batch)
    batching.submit(Sequence(0, 8, 1))
    assert all(work.sequence.state == DECODING for work in batching.next_batch())


def test_a_run_serves_everybody_and_its_numbers_add_up():
    trace = multi_turn(6, 3, 1, system=600, question=40, answer=30, rate=20.0, pause=2.0)
    found = run_hugging_face(trace, Machine(capacity=4096))
    assert found.requests == 18 and found.output_tokens == sum(request.answer for request in trace)
    assert found.asked == sum(request.prompt for request in trace) and 0 < found.found < found.asked
    assert found.found % 256 == 0 and found.waste.capacity == pytest.approx(1)


def test_another_scheduler_and_a_request_that_never_fits_are_refused():
    with pytest.raises(UsageError, match="no scheduler 'sjf': there are fifo, prefill_first"):
        HuggingFaceBatching(4, PAGE, Texts(overlapping([])), kind="sjf")
    with pytest.raises(NeverFits, match="may need 3 blocks of 256 slots, and there are 2 in all"):
        run_hugging_face(overlapping([(0, 500, 20)]), Machine(capacity=512))
