"""The learner's own parts in the real engine: with any subset of exercises done the same text comes out."""

from __future__ import annotations

import pytest

from kvlab.course import registry
from kvlab.course.myparts import ROLES, engine_from_my_parts, my_parts
from kvlab.course.session import session
from kvlab.errors import UsageError
from kvlab.serve import Engine
from kvlab.serve.assembling import assembled
from tests.course.cells import Notebook
from tests.course.own_load import expected, mine, serve, solved
from tests.serve.models import greedy, prompt, tiny

PLAIN = [name for name, role in ROLES.items() if not role.kernel]


def whose(engine) -> dict[str, str]:
    """The table's second column."""
    return {row.part: row.whose for row in engine.parts.rows}


def test_with_no_exercise_done_text_comes_out() -> None:
    tokens, engine = serve(Engine.from_my_parts, **mine())
    assert tokens == expected() and not engine.parts.faults and not engine.parts.mine
    assert set(whose(engine).values()) == {"finished: not passed yet"}
    assert engine.hits.found and engine.stats().preemptions, "the load must make it share and preempt"


def test_with_every_exercise_done_each_part_that_has_work_is_called() -> None:
    tokens, engine = serve(Engine.from_my_parts, host_blocks=40, **mine(**solved()))
    assert tokens == expected() and not engine.parts.faults and engine.parts.mine == PLAIN
    idle = [row.part for row in engine.parts.rows if row.whose == "yours" and not row.calls]
    assert idle == ["radix_match", "radix_insert"]  # with prefix="radix" they have work
    assert engine.stats().swaps and engine.stats().preemptions


@pytest.mark.parametrize("name", PLAIN)
def test_each_exercise_done_alone_runs_beside_finished_parts(name: str) -> None:
    prefix = "radix" if name.startswith("radix") else "hash"
    tokens, engine = serve(Engine.from_my_parts, host_blocks=40, prefix=prefix, **mine(**{name: solved()[name]}))
    assert tokens == expected() and not engine.parts.faults
    assert [row.part for row in engine.parts.rows if row.whose == "yours"] == [name]
    assert {row.part: row.calls for row in engine.parts.rows}[name] > 0


def test_the_tree_of_lab_07_finds_as_many_tokens_as_its_hashes() -> None:
    found = {}
    for prefix in ("hash", "radix", None):
        tokens, engine = serve(Engine.from_my_parts, prefix=prefix, **mine(**solved()))
        assert tokens == expected() and not engine.parts.faults
        calls = {row.part: row.calls > 0 for row in engine.parts.rows}
        assert [calls[name] for name in ("longest_hit", "block_hashes", "radix_match", "radix_insert", "evict")] == [
            prefix == "hash", prefix == "hash", prefix == "radix", prefix == "radix", prefix is not None]
        found[prefix] = engine.hits.found
    assert found["hash"] == found["radix"] > 0 == found[None]


def test_an_unknown_way_to_find_prompts_is_refused() -> None:
    with pytest.raises(UsageError, match="'hash' or 'radix', or None, not 'tree'"):
        Engine.from_my_parts(tiny("llama"), 8, 4, prefix="tree", **mine())


def test_beams_of_own_parts_are_those_of_the_finished_engine() -> None:
    found = []
    for make, options in ((Engine, {}), (Engine.from_my_parts, mine(**solved()))):
        engine = make(tiny("llama"), 24, 4, **options)
        search = engine.beam(prompt(7), 3, 6, num_return=3)
        engine.run()
        found.append([answer.tokens for answer in search.hypotheses])
    assert found[0] == found[1] and len(found[0]) == 3 and not engine.parts.faults


def test_a_stream_gives_the_same_tokens_and_an_aborted_request_leaves_no_block_behind() -> None:
    engine = Engine.from_my_parts(tiny("llama"), 30, 4, **mine(**solved()))
    asked, other = engine.submit(prompt(9), 6), engine.submit(prompt(11), 6)
    streamed = []
    for token in engine.stream(asked):
        streamed.append(token)
        engine.abort(other)
    assert streamed == greedy(tiny("llama"), prompt(9), 6) and other.reason == "aborted"
    engine.check()
    assert engine.stats().blocks_free == 30 and not engine.parts.faults


def test_the_answers_are_those_of_generate() -> None:
    engine = Engine.from_my_parts(tiny("llama"), 30, 4, **mine(**solved()))
    asked = [engine.submit(prompt(length), 6) for length in (3, 9, 17)]
    engine.run()
    assert [one.tokens for one in asked] == [greedy(tiny("llama"), prompt(length), 6) for length in (3, 9, 17)]
    assert len(engine.parts.mine) == len(PLAIN)


@pytest.mark.parametrize(("model", "block_size", "runs"), [("llama", 4, "paged_decode_kernel"),
                                                           ("qwen3", 16, "grouped_decode_kernel")])
def test_kernels_run_where_they_are_asked_for(model: str, block_size: int, runs: str) -> None:
    engine = Engine.from_my_parts(tiny(model), 6, block_size, kernels=True, **mine(**solved()))
    asked = engine.submit(prompt(6), 3)
    engine.run()
    calls = {row.part: row.calls for row in engine.parts.rows}
    assert asked.tokens == greedy(tiny(model), prompt(6), 3) and not engine.parts.faults
    assert calls[runs] and calls["write_kv_kernel"] and not calls["write_kv"] and not calls["attend_blockwise"]
    assert whose(engine)["write_kv"] == "yours, behind write_kv_kernel"
    if model == "llama":
        assert "powers of two, at least 16" in whose(engine)["grouped_decode_kernel"]


def test_kernels_stay_aside_where_there_is_no_gpu() -> None:
    engine = Engine.from_my_parts(tiny("llama"), 6, 4, **mine(**solved()))
    assert whose(engine)["write_kv_kernel"] == "finished: yours runs where a GPU is, or with kernels=True"


@pytest.mark.parametrize("model", ["mistral", "deepseek_v2"])
def test_a_model_with_windows_or_latents_gets_its_own_text(model: str) -> None:
    tokens, engine = serve(Engine.from_my_parts, model=model, **mine(**solved()))
    assert tokens == expected(model) and not engine.parts.faults
    aside = whose(engine)["paged_attention"]
    assert aside == ("finished: this model asks for a window, which the lab's does not know" if model == "mistral"
                     else "yours")


def test_passed_cells_are_found_in_the_progress_file_and_failed_ones_are_not(notebook: Notebook) -> None:
    notebook.run("open_lab('03')")
    assert notebook.run(solved()["slot_mapping"]).startswith("✓")
    assert notebook.run("@exercise\ndef blocks_needed(num_tokens, block_size):\n    return 3").startswith("✗")
    assert list(my_parts()) == ["slot_mapping"]
    tokens, engine = serve(Engine.from_my_parts)
    assert tokens == expected() and engine.parts.mine == ["slot_mapping"]


def test_a_notebooks_names_are_taken_but_not_the_finished_parts_among_them(notebook: Notebook) -> None:
    notebook.run("open_lab('03')")
    notebook.run(solved()["append_tokens"])
    found = my_parts(notebook.names, saved=False)
    assert list(found) == ["append_tokens"]
    tokens, engine = serve(Engine.from_my_parts, **mine(**found))
    assert tokens == expected() and engine.parts.mine == ["append_tokens"] and not engine.parts.faults


@pytest.mark.parametrize(("source", "why"), [
    ("def fork(", "its saved source is no Python"),
    ("import nothing_of_that_name", "its saved source raised ModuleNotFoundError"),
    ("def knife(table, pool):\n    return table", "its saved source defines no fork"),
    ("raise SystemExit", "its saved source ended the program with exit()"),
])
def test_a_source_that_no_longer_loads_is_a_sentence(source: str, why: str, capsys) -> None:
    session().progress.change(lambda state: state["exercises"].update(fork={"passed_source": source}))
    tokens, engine = serve(Engine.from_my_parts)
    assert tokens == expected() and [fault.part for fault in engine.parts.faults] == ["fork"]
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(f"✗ Your fork cannot be used: {why}") and said.count("✗") == 1
    assert said.endswith("The engine goes on with kvlab.memory.fork.")


def test_a_source_that_no_longer_passes_is_found_before_it_runs() -> None:
    entry = registry.find("slot_mapping")
    assert entry is not None
    wrong = "@exercise\ndef slot_mapping(table, start, stop, block_size):\n    return list(range(start, stop))"
    engine = Engine.from_my_parts(tiny("llama"), 8, 4, recheck=True,
                                  **mine(slot_mapping=wrong, fork=solved()["fork"]))
    assert [fault.part for fault in engine.parts.faults] == ["slot_mapping"] and engine.parts.mine == ["fork"]
    assert "expected" in engine.parts.faults[0].sentence


def test_the_table_is_the_same_as_text_and_html_every_time() -> None:
    pictures = []
    for _ in range(2):
        engine = serve(Engine.from_my_parts, host_blocks=40, **mine(**solved()))[1]
        pictures.append((repr(engine.parts), engine.parts._repr_html_()))
    assert pictures[0] == pictures[1]
    text, html = pictures[0]
    assert len(text.splitlines()) == len(ROLES) + 1 == html.count("<tr>")
    assert "BlockPool" in text and "hands out every block" in html


def test_a_part_of_an_unknown_name_is_refused_and_the_nearest_is_named(notebook: Notebook) -> None:
    with pytest.raises(UsageError, match="'slot_maping' is no part of an engine. Did you mean slot_mapping"):
        Engine.from_my_parts(tiny("llama"), 8, 4, **mine(slot_maping=len))
    with pytest.raises(UsageError, match="'zzz' is no part of an engine. They are BlockPool, "):
        my_parts({"zzz": len}, saved=False)
    assert my_parts(notebook.names | {"slot_maping": len, "blocks": 3}, saved=False) == {}  # names of a notebook


def test_a_part_that_was_never_called_says_so_in_the_table() -> None:
    engine = Engine.from_my_parts(tiny("llama"), 64, 4, **mine(choose_victim=lambda running, needing: 0))
    engine.submit(prompt(8), 2)
    engine.run()
    shown = {row.part: row.called for row in engine.parts.rows}
    assert shown["choose_victim"] == "never" and shown["slot_mapping"] == "" and "never" in engine.parts._repr_html_()


def test_every_part_is_an_exercise_of_the_course() -> None:
    assert all(registry.find(name) is not None for name in ROLES)
    assert not {"paged_waste", "kv_bytes_per_token"} & ROLES.keys()


def test_what_the_parts_decide_cannot_be_given_beside_them() -> None:
    with pytest.raises(UsageError, match="attention, checked, tiers cannot be given"):
        engine_from_my_parts(tiny("llama"), 8, 4, attention=None, checked=False, tiers=[])


def test_without_the_course_nobody_knows_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvlab.serve.assembling._known", [])
    with pytest.raises(UsageError, match="import kvlab.course first"):
        assembled(tiny("llama"), 8)
