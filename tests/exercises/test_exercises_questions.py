"""The recall questions and the "say it" of every lab: what the labs ask is there, and every figure holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvlab import memory
from kvlab.course import speak
from kvlab.course.questions import RECALL, SAY_IT, Recall, SayIt

SOLUTIONS = Path(__file__).parents[2] / "solutions"
BY_KEY = {question.key: question for question in RECALL}


def notebooks() -> dict[str, str]:
    return {path.name[:2]: path.read_text() for path in sorted(SOLUTIONS.glob("[0-9][0-9]_*.py"))}


def test_every_question_that_a_lab_asks_is_there_and_its_solution_is_right() -> None:
    asked = 0
    for lab, text in notebooks().items():
        letters = dict(re.findall(r'^(\w+) = "([a-d])"$', text, re.M))
        for key, variable in re.findall(r'^recall\("([\w-]+)", (\w+)\)$', text, re.M):
            assert BY_KEY[key].answer == letters[variable], key
            assert BY_KEY[key].lab == lab
            asked += 1
    assert asked == len(RECALL)


@pytest.mark.parametrize("lab", ["01", "02", "03", "04", "05", "06", "07", "08", "11"])
def test_each_lab_asks_at_least_three(lab: str) -> None:
    assert len([question for question in RECALL if question.lab == lab]) >= 3


@pytest.mark.parametrize("question", RECALL, ids=lambda question: question.key)
def test_a_question_has_a_right_choice_tempting_others_and_a_reason(question: Recall) -> None:
    assert question.answer in question.choices and len(question.choices) >= 3
    assert len(set(question.choices.values())) == len(question.choices)
    assert 15 <= len(question.why.split()) <= 60
    assert "!" not in question.prompt + question.why + "".join(question.choices.values())


@pytest.mark.parametrize("prompt", SAY_IT, ids=lambda prompt: f"lab{prompt.lab}")
def test_a_model_answer_is_short_and_makes_every_point(prompt: SayIt) -> None:
    assert 4 <= len(prompt.rubric) <= 6
    assert len(prompt.model.split()) < 90
    assert speak.ticked(prompt, prompt.model) == set(range(1, len(prompt.rubric) + 1))
    assert not speak.ticked(prompt, "I do not remember.")


@pytest.mark.parametrize("prompt", SAY_IT, ids=lambda prompt: f"lab{prompt.lab}")
def test_the_words_of_the_solved_lab_make_most_points(prompt: SayIt) -> None:
    lab = notebooks()[prompt.lab[:2]]
    variable = re.search(rf'^say_it\("{prompt.lab}", (\w+)\)$', lab, re.M)
    assert variable, "the lab asks for it"
    found = re.search(rf'^{variable[1]} = """(.*?)"""', lab, re.M | re.S)
    assert found and len(speak.ticked(prompt, found.group(1))) >= len(prompt.rubric) - 1


@pytest.mark.parametrize(("lab", "point", "words"), [
    ("00", 2, "The server reserves without knowing how long the answer will be."),
    ("02", 1, "They allocate without knowing how long the answer will be."),
    ("01", 5, "The limit is the GPU memory, as each needs its own kv cache."),
    ("03", 3, "Blocks are handed out one at a time, when needed."),
    ("03", 5, "With one-token blocks the table gets very long.")])
def test_points_are_ticked_for_other_words_too(lab: str, point: int, words: str) -> None:
    prompt = next(prompt for prompt in SAY_IT if prompt.lab == lab)
    assert point in speak.ticked(prompt, words)


def test_the_wrong_letters_of_the_bug_hunt_have_reasons_of_their_own() -> None:
    hunt = BY_KEY["03-bug-hunt"]
    assert set(hunt.reasons) == set(hunt.choices) - {hunt.answer}


def said(lab: str) -> str:
    return next(prompt for prompt in SAY_IT if prompt.lab == lab).model


def test_the_figures_are_those_of_the_running_example() -> None:
    full, _, blocks, _ = memory.published_table(memory.lesson_trace(), memory.KV_TOKENS)
    share = f"{int(100 * full.share_held)} %"
    assert f"{full.fit} conversations" in said("00") and share in said("00") and str(blocks.fit) in said("00")
    assert f"{blocks.fit} requests in place of {full.fit}" in said("03")
    kib = memory.LLAMA_3_8B.bytes_per_token // 1024
    tokens = f"{memory.KV_TOKENS // 1000},000 tokens"
    assert f"{kib} KiB a token, {memory.KV_BYTES // 2**30} GiB hold about {tokens}" in said("01")
    per_token = BY_KEY["02-per-token"]
    assert per_token.choices[str(per_token.answer)] == f"{kib} KiB"
    query_heads, one_layer = memory.bytes_per_token(32, 32, 128), memory.bytes_per_token(1, 8, 128)
    prices = {1024 * kib, query_heads, one_layer, 512 * kib}
    assert {f"{price // 1024} KiB" for price in prices} == set(per_token.choices.values())


def test_the_slots_of_the_question_on_kinds_add_up() -> None:
    held, later, internal = memory.waste_kinds(500, 100, 40, memory.reserve("prompt+max", 500, 100))
    prompt = BY_KEY["03-kinds"].prompt
    assert all(f"{number:,}" in prompt for number in (held, later, internal, held + later + internal))


def test_the_bug_hunt_ends_with_one_block_for_two() -> None:
    free = list(range(4))
    ana, _ben = free.pop(), free.pop()
    free += [ana, ana]  # finished, and hung up
    carl, dora = free.pop(), free.pop()
    assert carl == dora == 3 and "block 3" in BY_KEY["03-bug-hunt"].why
