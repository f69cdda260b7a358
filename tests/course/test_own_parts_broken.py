"""A broken part becomes a sentence about that part, the finished one takes over, and the text stays the same."""

from __future__ import annotations

import pytest

from kvlab.course import registry
from kvlab.course.declare import Mistake
from kvlab.course.myparts import ROLES, roles
from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.pool import OwnPool
from kvlab.serve import Engine
from tests.course.own_load import expected, mine, serve, solved
from tests.serve.models import greedy, prompt, tiny

TRIED = 7  # mistakes of each exercise, spread over its list
SHOWN = 5  # of them at least so many show in this load, where nothing else is said
FEWER = {"BlockPool": 3, "write_kv": 3, "paged_attention": 4, "attend_blockwise": 3, "block_hashes": 3, "pick_next": 1,
         "choose_victim": 3, "recompute_seconds": 2, "swap_seconds": 2, "admit": 4, "schedule_step": 4}
"""Some mistakes lie in what an engine never asks of its parts: padding, log-sums, a pool that is misused, more who
decode than the budget has tokens."""


def mistakes(name: str) -> list[Mistake]:
    """Some of an exercise's known mistakes."""
    entry = registry.find(name)
    assert entry is not None
    step = max(1, len(entry.mistakes) // TRIED)
    return list(entry.mistakes[::step][:TRIED])


@pytest.mark.parametrize("name", [name for name, role in ROLES.items() if not role.kernel])
def test_a_known_mistake_changes_no_token_and_only_its_own_part_is_named(name: str) -> None:
    shown = 0
    for mistake in mistakes(name):
        prefix = "radix" if name.startswith("radix") else "hash"
        tokens, engine = serve(Engine.from_my_parts, host_blocks=10, prefix=prefix, **mine(**{name: mistake.code}))
        assert tokens == expected(), mistake.code.__name__
        assert {fault.part for fault in engine.parts.faults} <= {name}, mistake.code.__name__
        assert len(engine.parts.faults) <= 1 and engine.restarts == 0
        if engine.parts.faults:
            shown += 1
            assert name not in engine.parts.mine and name in engine.parts.faults[0].sentence
    assert shown >= FEWER.get(name, SHOWN)


def test_one_wrong_among_all_that_are_right_goes_alone() -> None:
    wrong = "def slot_mapping(table, start, stop, block_size):\n    return [start + i for i in range(stop - start)]"
    tokens, engine = serve(Engine.from_my_parts, **mine(**solved() | {"slot_mapping": wrong}))
    assert tokens == expected()
    assert [(fault.part, fault.invariant) for fault in engine.parts.faults] == [("slot_mapping", "I4")]
    assert "slot_mapping" not in engine.parts.mine and "append_tokens" in engine.parts.mine


def test_a_part_that_calls_a_broken_one_is_not_blamed_for_it() -> None:
    calls = solved()["append_tokens"]
    assert "blocks_needed(" in calls and "slot_mapping(" in calls
    wrong = "def blocks_needed(num_tokens, block_size):\n    return num_tokens // block_size + 1"
    tokens, engine = serve(Engine.from_my_parts, **mine(append_tokens=calls, blocks_needed=wrong))
    assert tokens == expected() and [fault.part for fault in engine.parts.faults] == ["blocks_needed"]
    assert engine.parts.mine == ["append_tokens"]


def test_what_is_found_inside_another_part_is_said_too(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "def blocks_needed(num_tokens, block_size):\n    return 1"
    parts = Parts({"append_tokens": solved()["append_tokens"], "blocks_needed": wrong})
    pool = OwnPool(parts, 8)
    parts.attempt("append_tokens", lambda: parts.mine["append_tokens"]([], 0, 9, pool, 4))
    assert "✗ Your blocks_needed(num_tokens=9, block_size=4)" in capsys.readouterr().out


def test_the_sentence_names_call_finding_invariant_and_what_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "def blocks_needed(num_tokens, block_size):\n    return num_tokens // block_size + 1"
    engine = Engine.from_my_parts(tiny("llama"), 8, 4, mine={"blocks_needed": wrong}, saved=False)
    asked = engine.submit(prompt(8), 2)
    engine.run()
    assert capsys.readouterr().out == (
        "✗ Your blocks_needed(num_tokens=8, block_size=4) returned 3, expected 2. (I3) The engine goes on with\n"
        "  kvlab.memory.blocks_needed.\n"
    )
    assert asked.tokens == greedy(tiny("llama"), prompt(8), 2)


@pytest.mark.parametrize("body", [
    "while True:\n        pass",
    "while True:\n        try:\n            block_size += 1\n        except BaseException:\n            pass",
    "return slot_mapping(table, start, stop, block_size)",
    "raise SystemExit",
    "return 'slots'",
    "return [0.5] * (stop - start)",
    "return input()",
])
def test_a_part_that_never_ends_or_ends_everything_is_stopped(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROLES, "slot_mapping", roles.Role("", ("I4",), seconds=0.3))
    wrong = f"def slot_mapping(table, start, stop, block_size):\n    {body}"
    tokens, engine = serve(Engine.from_my_parts, **mine(slot_mapping=wrong))
    assert tokens == expected() and [fault.part for fault in engine.parts.faults] == ["slot_mapping"]


@pytest.mark.parametrize("block", ["10 ** 6", "-10 ** 6", "'a'", "None", "1.0"])
def test_what_is_no_block_of_the_pool_in_a_table_is_a_sentence_about_the_part_that_put_it_there(block: str) -> None:
    wrong = ("def append_with_cow(table, num_tokens, pool, block_size):\n"
             "    if num_tokens % block_size:\n        return table[-1] * block_size + num_tokens % block_size, None\n"
             f"    table.append({block})\n    return 0, None")
    tokens, engine = serve(Engine.from_my_parts, **mine(append_with_cow=wrong))
    assert tokens == expected() and engine.restarts == 0
    assert [fault.part for fault in engine.parts.faults] == ["append_with_cow"]


def test_a_write_kv_that_refuses_what_is_right_is_wrong_and_not_unfit() -> None:
    wrong = "def write_kv(key_pool, value_pool, key, value, slots):\n    raise UsageError('too many slots')"
    tokens, engine = serve(Engine.from_my_parts, **mine(write_kv=wrong))
    assert tokens == expected()
    assert "raised UsageError: too many slots." in engine.parts.faults[0].sentence


def test_a_helper_of_another_cell_that_was_not_saved_is_explained() -> None:
    source = "def blocks_needed(num_tokens, block_size):\n    return rounded_up(num_tokens, block_size)"
    tokens, engine = serve(Engine.from_my_parts, **mine(blocks_needed=source))
    assert tokens == expected()
    assert "'rounded_up' is not defined (what is saved is the exercise alone: put helpers inside it)" in (
        engine.parts.faults[0].sentence)


def test_what_a_part_prints_does_not_flood_the_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    talks = "def blocks_needed(num_tokens, block_size):\n    print('here')\n    return -(-num_tokens // block_size)"
    tokens, engine = serve(Engine.from_my_parts, **mine(blocks_needed=talks))
    assert tokens == expected() and not engine.parts.faults and "here" not in capsys.readouterr().out


HIDDEN = """
def append_tokens(table, num_tokens, new_tokens, pool, block_size):
    import builtins
    builtins.own_parts_pool = pool
    table += pool.take(-(-(num_tokens + new_tokens) // block_size) - len(table))
    return [table[i // block_size] * block_size + i % block_size for i in range(num_tokens, num_tokens + new_tokens)]
"""
MEDDLES = """
def slot_mapping(table, start, stop, block_size):
    import builtins
    builtins.own_parts_pool.share(table[:1])
    return [table[i // block_size] * block_size + i % block_size for i in range(start, stop)]
"""


@pytest.fixture
def no_pool_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.own_parts_pool", None, raising=False)


@pytest.mark.usefixtures("no_pool_left")
def test_what_no_call_shows_is_found_after_the_step_and_the_requests_begin_again() -> None:
    tokens, engine = serve(Engine.from_my_parts, **mine(append_tokens=HIDDEN, slot_mapping=MEDDLES))
    assert tokens == expected() and engine.restarts == 1
    fault, later = engine.parts.faults
    assert fault.part == "append_tokens" and fault.invariant == "I5" and later.part == "slot_mapping"
    assert "append_tokens is suspected, since I5 does not hold after a step: request" in fault.sentence


@pytest.mark.usefixtures("no_pool_left")
def test_a_token_that_a_failed_part_got_wrong_is_taken_back() -> None:
    engine = Engine.from_my_parts(tiny("llama"), 20, 4, **mine(append_tokens=HIDDEN, slot_mapping=MEDDLES))
    asked = engine.submit(prompt(5), 8)
    engine.parts._parts.mine.pop("slot_mapping")  # so that nothing goes wrong before some tokens are there
    for _ in range(4):
        engine.step()
    right, asked.tokens[2] = asked.tokens[2], (asked.tokens[2] + 1) % 97
    engine.manager.pool.share([engine.manager.table(asked.id)[0]])
    engine.run()
    assert engine.restarts == 1 and asked.tokens[2] == right
    assert asked.tokens == greedy(tiny("llama"), prompt(5), 8)


def test_trouble_of_the_machine_is_no_fault_of_a_part() -> None:
    parts = Parts({"fork": solved()["fork"]}, quiet=True)
    assert not parts.failed(MemoryError()) and not parts.failed(RuntimeError("no GPU memory")) and not parts.faults
    assert parts.failed(KeyError(3)) and parts.faults[0].part == "fork" and not parts.failed(KeyError(3))


def test_a_run_that_is_stopped_in_a_part_goes_on_as_if_nothing_had_been() -> None:
    stopped: list[int] = []

    def append_with_cow(table, num_tokens, pool, block_size):
        if num_tokens % block_size == 0:
            table += pool.take(1)
            if len(stopped) < 3:
                stopped.append(num_tokens)
                raise KeyboardInterrupt
        return table[-1] * block_size + num_tokens % block_size, None

    engine = Engine.from_my_parts(tiny("llama"), 20, 4, **mine(append_with_cow=append_with_cow))
    asked = [engine.submit(prompt(length), 6) for length in (4, 7)]
    while engine.has_work:
        try:
            engine.run()
        except KeyboardInterrupt:
            engine.manager.check()
    assert len(stopped) == 3 and not engine.parts.faults and engine.parts.mine == ["append_with_cow"]
    assert [one.tokens for one in asked] == [greedy(tiny("llama"), prompt(length), 6) for length in (4, 7)]


@pytest.mark.parametrize(("name", "model", "block_size", "least"), [
    ("write_kv_kernel", "llama", 4, 2), ("paged_decode_kernel", "llama", 4, 5),
    ("grouped_decode_kernel", "qwen3", 16, 4)])
def test_a_broken_kernel_is_a_sentence_too(name: str, model: str, block_size: int, least: int) -> None:
    right, shown = greedy(tiny(model), prompt(5), 3), 0
    for mistake in mistakes(name):
        engine = Engine.from_my_parts(tiny(model), 6, block_size, kernels=True, **mine(**{name: mistake.code}))
        asked = engine.submit(prompt(5), 3)
        engine.run()
        assert asked.tokens == right and {fault.part for fault in engine.parts.faults} <= {name}
        shown += bool(engine.parts.faults)
    assert shown >= least


def test_a_wild_kernel_is_stopped_at_the_edge_of_its_tensor() -> None:
    source = solved()["write_kv_kernel"].replace("slot * width + column", "(slot + 100000) * width + column")
    engine = Engine.from_my_parts(tiny("llama"), 6, 4, kernels=True, **mine(write_kv_kernel=source))
    asked = engine.submit(prompt(5), 3)
    engine.run()
    assert asked.tokens == greedy(tiny("llama"), prompt(5), 3)
    (fault,) = engine.parts.faults
    assert fault.part == "write_kv_kernel" and "key_pool" in fault.sentence
