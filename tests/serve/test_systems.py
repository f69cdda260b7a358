"""The systems table: sources and versions, runs whose numbers add up, and what each policy does, by hand."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from kvlab.errors import UsageError
from kvlab.memory import LLAMA_3_8B, Request, Trace, VirtualCache, blocks_needed, make_trace, multi_turn
from kvlab.memory.addresses import address_ranges
from kvlab.serve.costmodel import PICOSECONDS, StepCost
from kvlab.serve.limits import NeverFits
from kvlab.serve.simulate import simulate
from kvlab.serve.system_facts import Facts
from kvlab.serve.system_runs import VATTENTION_PAGE, Machine, Outcome
from kvlab.serve.systems import SYSTEMS, facts_table, outcome_table, side_by_side

SECOND = StepCost(PICOSECONDS, 0, 0, 0, 0)  # every step takes one
NAMES = list(SYSTEMS)
CHATS = multi_turn(16, 3, 2, system=300, question=60, answer=100, rate=40.0, pause=3.0)
TIGHT = Machine(capacity=4096, most=100)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """Every system on ten chats, in a memory that they fill."""
    return side_by_side(CHATS, TIGHT)


def texts(*requests: tuple[list[tuple[int, int]], int, float]) -> Trace:
    """Requests of (segments, answer, arrival)."""
    rows = (
        Request(sum(length for _, length in segments), answer, arrival, tuple(segments))
        for segments, answer, arrival in requests
    )
    return Trace("by hand", tuple(rows))


@pytest.mark.parametrize("name", NAMES)
def test_every_row_answers_every_question_and_says_what_was_read_and_which_version(name):
    system = SYSTEMS[name]
    assert [question for question, _ in system.facts.rows()] == [f.name.replace("_", " ") for f in fields(Facts)]
    assert all(len(answer) > 10 for _, answer in system.facts.rows()) and system.runs_as.endswith(".")
    assert system.sources
    for source in system.sources:
        assert source.address.startswith("https://")
        assert re.search(r"\d", source.version), source
        if "/blob/" in source.address and "commit" in source.version:
            assert source.version.removeprefix("commit ") in source.address


def test_the_hugging_face_row_names_the_version_that_its_oracle_is():
    transformers = pytest.importorskip("transformers")
    assert {source.version for source in SYSTEMS["Hugging Face"].sources} == {"5.24.0"}
    assert transformers.__version__ == "5.24.0", "read the files again, and say which version it was"


@pytest.mark.parametrize("name", NAMES)
def test_tokens_are_conserved_and_no_system_finds_more_than_was_asked_for(outcomes, name):
    found = outcomes[name]
    assert found.requests == len(CHATS) and found.output_tokens == sum(request.answer for request in CHATS)
    assert found.asked == sum(request.prompt for request in CHATS)
    assert 0 <= found.found < found.asked and found.loaded <= found.found and found.copied <= found.found
    assert found.waste.capacity == pytest.approx(1) and min(found.waste.held, found.waste.later) >= 0
    assert found.waste.internal >= -1e-9 and 1 <= found.running <= found.peak <= len(CHATS)
    assert (found.recomputed > 0) == (found.preemptions > 0)


def test_the_outcomes_are_the_same_each_time(outcomes):
    assert side_by_side(CHATS, TIGHT) == outcomes


def test_who_reserves_preempts_nobody_and_who_shares_nothing_finds_nothing(outcomes):
    for name in ("TGI", "TensorRT-LLM"):
        assert outcomes[name].preemptions == 0
    assert (
        outcomes["vAttention"].found == 0 and outcomes["TGI"].waste.internal > outcomes["TensorRT-LLM"].waste.internal
    )
    assert outcomes["TGI"].found < outcomes["SGLang"].found, "answers are not kept, nor prompts before their end"
    assert all((outcome.loaded > 0) == (name == "LMCache") for name, outcome in outcomes.items())
    assert all((outcome.copied > 0) == (name == "TensorRT-LLM") for name, outcome in outcomes.items())


@pytest.mark.parametrize(
    "name, size, capacity", [("vLLM", 16, 1024), ("LMCache", 16, 1024), ("vAttention", 1024, 3072)]
)
def test_without_anything_to_share_a_paged_row_is_the_plain_simulation(name, size, capacity):
    lengths = [1020, 900, 1000] if name == "vAttention" else [40, 90, 300, 10, 700]
    trace = make_trace("alone", lengths, [80, 20, 60, 200, 30][: len(lengths)])
    mine = SYSTEMS[name].run(trace, Machine(capacity=capacity, most=1, host=0))
    plain = simulate(trace, capacity=capacity, block_size=size, cost=Machine().cost, watermark=0)
    same = ("seconds", "steps", "running", "peak", "preemptions", "recomputed", "output_tokens")
    assert [getattr(mine, what) for what in same] == [getattr(plain, what) for what in same]
    assert mine.waste.held == pytest.approx(plain.waste.held)
    assert mine.waste.later + mine.waste.internal == pytest.approx(plain.waste.internal)
    assert (mine.preemptions > 0) == (name == "vAttention")  # elsewhere who comes back finds blocks of its own


def test_by_hand_vllm_finds_whole_blocks_of_16_of_what_another_request_has_written():
    trace = texts(([(1, 40)], 1, 0.0), ([(1, 40), (2, 10)], 1, 5.0))
    assert SYSTEMS["vLLM"].run(trace, Machine(capacity=256, cost=SECOND)).found == 32


def test_by_hand_sglang_finds_single_tokens():
    trace = texts(([(1, 40)], 1, 0.0), ([(1, 40), (2, 10)], 1, 5.0))
    assert SYSTEMS["SGLang"].run(trace, Machine(capacity=256, cost=SECOND)).found == 40


def test_by_hand_sglang_retracts_whoever_has_generated_least_and_never_the_oldest():
    # 30 slots. In the third step the two hold 12 + 12 and the last comes with 4; in the fourth it has to leave.
    trace = texts(([(1, 10)], 6, 0.0), ([(2, 10)], 6, 0.0), ([(3, 4)], 6, 2.0))
    found = SYSTEMS["SGLang"].run(trace, Machine(capacity=30, cost=SECOND))
    assert (found.preemptions, found.recomputed) == (1, 4)


def test_by_hand_tensorrt_copies_the_part_of_a_block_that_fits():
    # The second prompt shares 40 tokens: a block of 32, and 8 of the next, which is full by the time it comes.
    trace = texts(([(1, 40), (2, 24)], 1, 0.0), ([(1, 40), (3, 24)], 1, 5.0))
    found = SYSTEMS["TensorRT-LLM"].run(trace, Machine(capacity=256, most=1, cost=SECOND))
    assert (found.found, found.copied) == (40, 8)


def test_by_hand_tensorrt_admits_only_who_can_run_to_the_end():
    # 8 blocks of 32. Each request may need ceil((32 + 96 - 1) / 32) = 4: two run at once, however short they stay.
    trace = texts(*[([(number, 32)], 4, 0.0) for number in range(3)])
    found = SYSTEMS["TensorRT-LLM"].run(trace, Machine(capacity=256, most=96, cost=SECOND))
    assert (found.peak, found.preemptions, found.seconds) == (2, 0, 8.0)


def test_by_hand_tensorrt_keeps_the_system_prompt_when_others_come_between():
    # 4 blocks: the first segment (a block) has priority 100, so the two strangers' blocks are given up before it.
    system = [(1, 32)]
    strangers = [([(number, 64)], 1, 5.0 * number) for number in (2, 3, 4)]
    trace = texts(([*system, (9, 32)], 1, 0.0), *strangers, ([*system, (8, 32)], 1, 30.0))
    machine = Machine(capacity=128, most=1, cost=SECOND)
    kept = SYSTEMS["TensorRT-LLM"].run(trace, machine).found
    assert SYSTEMS["vLLM"].run(trace, machine).found == 0 and kept == 0
    short = [([(0, 0), (number, 64)], 1, 5.0 * number) for number in (2, 3, 4)]  # of these nothing is to be kept
    trace = texts(([*system, (9, 32)], 1, 0.0), *short, ([*system, (8, 32)], 1, 30.0))
    assert SYSTEMS["TensorRT-LLM"].run(trace, machine).found == 32


def test_by_hand_tgi_takes_all_that_is_asked_for_at_once():
    # 100 slots; each asks for 10 + 41 - 1 = 50: two run at once and hold 12 and more tokens of their 100 slots.
    trace = texts(*[([(number, 10)], 4, 0.0) for number in range(4)])
    found = SYSTEMS["TGI"].run(trace, Machine(capacity=100, most=41, cost=SECOND))
    assert (found.peak, found.preemptions, found.seconds) == (2, 0, 8.0)
    # Each of the 4 steps: 10, 11, 12, 13 tokens, of 13 in the end, in 50 slots.
    assert found.waste.held == pytest.approx(2 * 11.5 / 100)
    assert found.waste.later == pytest.approx(2 * 1.5 / 100) and found.waste.internal == pytest.approx(2 * 37 / 100)


def test_by_hand_tgi_finds_prompts_of_those_who_have_ended_and_no_answers():
    trace = Trace(
        "chat",
        (
            Request(10, 5, 0.0, ((1, 10),), 7),
            Request(12, 1, 2.0, ((1, 10), (2, 2))),
            Request(20, 1, 30.0, ((1, 10), (7, 5), (3, 5))),
        ),
    )
    assert SYSTEMS["TGI"].run(trace, Machine(capacity=200, most=5, cost=SECOND)).found == 10
    assert SYSTEMS["SGLang"].run(trace, Machine(capacity=200, most=5, cost=SECOND)).found == 10 + 14


def test_by_hand_lmcache_loads_chunks_of_256_that_the_pool_has_given_up():
    # 40 blocks of 16: the second prompt takes 38, 3 of them blank, so 2 of the first prompt's 37 full ones are left.
    # The third finds these, and the other 30 blocks of its two whole chunks on the host.
    trace = texts(([(1, 600)], 1, 0.0), ([(2, 600)], 1, 5.0), ([(1, 600), (3, 10)], 1, 10.0))
    machine = Machine(capacity=640, cost=SECOND._replace(copy=PICOSECONDS // 100))
    found = SYSTEMS["LMCache"].run(trace, machine)
    assert (found.found, found.loaded) == (512, 480)
    assert found.seconds == pytest.approx(10.0 + 1.0 + 30 * 0.01), "30 blocks are copied before the step"
    assert SYSTEMS["vLLM"].run(trace, machine).found == 32


def test_by_hand_vattention_gives_1024_tokens_at_once():
    # Two pages: two requests of a few tokens fill the memory, and the third waits.
    trace = texts(*[([(number, 10)], 4, 0.0) for number in range(3)])
    found = SYSTEMS["vAttention"].run(trace, Machine(capacity=2048, cost=SECOND))
    assert (found.peak, found.seconds) == (2, 8.0)
    assert found.waste.held + found.waste.later + found.waste.internal == pytest.approx((4 * 2 + 4 * 1) / 8 / 2)


@pytest.mark.parametrize("tokens", [1, 1023, 1024, 1025, 5000])
def test_a_page_of_the_vattention_row_is_one_of_every_layers_keys_and_values(tokens):
    cache = VirtualCache(64 * 8, 2 * 2**20, address_ranges(LLAMA_3_8B))
    cache.reserve("one", 8192)
    assert cache.grow("one", tokens) == 64 * blocks_needed(tokens, VATTENTION_PAGE)


@pytest.mark.parametrize("name", NAMES)
def test_a_request_that_never_fits_is_refused_before_anything_runs(name):
    with pytest.raises(NeverFits, match="may need"):
        SYSTEMS[name].run(texts(([(1, 5000)], 10, 0.0)), Machine(capacity=2048))


def test_lengths_without_texts_run_too_and_an_unknown_system_is_refused():
    trace = make_trace("lengths", [30, 30], [5, 5])
    found = side_by_side(trace, Machine(capacity=4096), ["vLLM", "Hugging Face"])
    assert list(found) == ["vLLM", "Hugging Face"] and all(outcome.found == 0 for outcome in found.values())
    with pytest.raises(UsageError, match="no system 'Orca' in the table: there are vLLM, SGLang"):
        side_by_side(trace, names=["Orca"])


def test_the_tables_name_every_system_and_fit_their_width(outcomes):
    table = outcome_table(outcomes)
    assert [line.split("  ")[0] for line in table.splitlines()[1:8]] == NAMES
    assert f"{outcomes['vLLM'].hit_rate:.1%}" in table and max(map(len, table.splitlines())) <= 120
    facts = facts_table(width=80)
    assert all(name in facts for name in NAMES) and max(map(len, facts.splitlines())) <= 80
    assert facts.count("eviction ") >= 7 and "5.24.0" in facts_table(["Hugging Face"])
    short = facts_table(width=80, questions=["sharing", "tiers"])
    assert all(short.count(f"\n{name} ") == 2 for name in NAMES) and "eviction" not in short
    assert max(map(len, short.splitlines())) <= 80 and "commit" not in short
    with pytest.raises(UsageError, match="no question 'colour' in the table: there are unit, free list, sharing"):
        facts_table(questions=["colour"])
    with pytest.raises(UsageError, match="no system 'Orca' in the table"):
        facts_table(["Orca"])
    with pytest.raises(UsageError, match="at least 40 columns, not 10"):
        facts_table(width=10)
