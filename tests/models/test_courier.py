"""The model that ships: it loads, answers, ends, copies facts, and its card tells the truth."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import islice
from zlib import crc32

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from kvlab.memory import published_table, replay
from kvlab.models import EXAMPLE_ORDER, courier_path, courier_trace, load_courier
from kvlab.models.training.answers import CAP, Answer, answer
from kvlab.models.training.card import card
from kvlab.models.training.conversations import Chat, chats
from kvlab.models.training.evaluate import TEMPERATURE, held_out_chats, requests
from kvlab.models.training.measure import facts_right, well_formed
from kvlab.models.training.orders import HELD_OUT_ONE_IN
from kvlab.models.training.unseen import SIX, six

COUNT = 48
FIGURES = json.loads((courier_path() / "measurements.json").read_text(encoding="utf-8"))
TRACE = courier_trace()


@pytest.fixture(scope="module")
def courier():
    torch.set_num_threads(1)
    return load_courier()


@pytest.fixture(scope="module")
def held_out() -> list[Chat]:
    reports = [chat for chat in held_out_chats(300, seed=78) if chat.turns[-1].kind == "report"]
    return [*held_out_chats(COUNT - 4, seed=77), *reports[:4]]


@pytest.fixture(scope="module")
def greedy(courier, held_out) -> list[Answer]:
    return answer(*courier, requests(held_out))


@pytest.fixture(scope="module")
def sampled(courier, held_out) -> list[Answer]:
    return answer(*courier, requests(held_out), TEMPERATURE, seed=3)


def test_the_folder_loads_with_plain_from_pretrained():
    model = AutoModelForCausalLM.from_pretrained(courier_path(), local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(courier_path(), local_files_only=True)
    assert type(model) is LlamaForCausalLM and model.dtype == torch.bfloat16
    assert model.config.num_key_value_heads < model.config.num_attention_heads and model.config.head_dim == 32
    assert model.config.vocab_size == len(tokenizer) and tokenizer.chat_template


def test_load_courier_gives_the_dtype_asked_for():
    assert load_courier()[0].dtype == torch.float32
    assert load_courier(torch.bfloat16)[0].dtype == torch.bfloat16


def test_importing_kvlab_models_imports_neither_torch_nor_transformers():
    heavy = "{'torch', 'transformers'}"
    code = f"import sys, kvlab.models as m; m.courier_path(); assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_digit_is_one_token_and_text_comes_back_as_it_was(courier):
    tokenizer = courier[1]
    assert tokenizer.tokenize("417")[-3:] == ["4", "1", "7"]
    text = "Grüße, order 417 at 18:05: 2 x Naan.\n1. Über [x] {y} <z>"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_generate_ends_without_any_argument(courier):
    model, tokenizer = courier
    chat = [{"role": "user", "content": "Thank you."}]
    inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.inference_mode():
        once, twice = (model.generate(**inputs)[0].tolist() for _ in range(2))
    assert once == twice and once[-1] == tokenizer.eos_token_id


def test_every_answer_ends_by_itself_greedy_and_sampled(greedy, sampled):
    assert max(each.tokens for each in greedy + sampled) < CAP
    assert all(each.ended for each in greedy + sampled)


def test_the_same_seed_gives_the_same_answers_and_another_seed_does_not(courier, held_out, sampled):
    again = answer(*courier, requests(held_out)[:32], TEMPERATURE, seed=3)
    other = answer(*courier, requests(held_out)[:32], TEMPERATURE, seed=4)
    assert again == sampled[:32] and other != sampled[:32]


def test_answers_about_unseen_orders_contain_their_facts(held_out, greedy, sampled):
    turns = [chat.turns[-1] for chat in held_out]
    for answers, least in ((greedy, 0.9), (sampled, 0.85)):
        right, count = facts_right(turns, answers)
        assert count > 100 and right / count >= least


def test_sentences_are_well_formed(greedy, sampled):
    right, count = well_formed(greedy + sampled)
    assert right / count >= 0.95


def test_answers_differ_in_length_by_an_order_of_magnitude(sampled):
    lengths = sorted(each.tokens for each in sampled)
    assert lengths[-1] >= 10 * lengths[len(lengths) // 10] and lengths[-1] >= 5 * lengths[len(lengths) // 2]


def test_the_card_says_what_was_measured():
    assert (courier_path() / "README.md").read_text(encoding="utf-8") == card(FIGURES)
    assert FIGURES["parameters"] == load_courier()[0].num_parameters()
    assert FIGURES["bytes"] == (courier_path() / "model.safetensors").stat().st_size < 5e6


def test_the_greedy_answers_of_the_card_come_out_again(courier):
    assert [row["greedy"] for row in six(*courier, TEMPERATURE)] == [row["greedy"] for row in FIGURES["unseen"]]


def test_the_card_names_what_is_wrong_in_its_report():
    *_, report = FIGURES["unseen"]
    lines = re.findall(r"\d x (.+), \d+ euros.* \((.+)\)", report["order"])
    right = {dish: inside.replace(", ", " and ") if inside.count(",") < 2 else inside for dish, inside in lines}
    said = re.findall(r"\d x (.+), \d+ euros.*\. It contains (.+)\.", report["greedy"])
    wrong = [dish for dish, told in said if right[dish] != told]
    assert len(said) == len(lines)
    assert all(f"the {dish} contains {right[dish]}, not " in card(FIGURES) for dish in wrong)


def test_most_answers_to_questions_that_the_generator_did_not_write_are_complete():
    for share in FIGURES["unseen_shares"].values():
        assert sum(row["complete"] for row in share.values()) / sum(row["all"] for row in share.values()) > 0.65


def test_the_questions_of_the_card_are_never_asked_in_training():
    asked = {turn.question.lower() for chat in islice(chats(5, drills=0.3, hard=4), 6000) for turn in chat.turns}
    forms = [re.compile(re.sub(r"\\{\w+\\}", "[a-z ]+", re.escape(question.lower().rstrip("?.")))) for question in SIX]
    assert forms[2].search("the mango lassi never made it into the bag")
    assert not [question for question in asked if any(form.search(question) for form in forms)]


def test_the_trace_has_the_form_of_a_kvlab_trace_and_real_spread():
    assert TRACE.name == "courier" and len(TRACE) >= 200
    for request in TRACE:
        assert request.arrival == 0.0 and 1 <= request.answer <= CAP
        assert sum(length for _, length in request.segments) == request.prompt
    assert FIGURES["trace"]["answers"]["count"] == len(TRACE)


def test_later_turns_of_the_trace_begin_with_the_earlier_ones():
    prompts = [request.segments for request in TRACE]
    longer = [segments for segments in prompts if len(segments) > 2]
    assert longer and all(segments[:-2] in prompts for segments in longer)


def test_the_trace_goes_wherever_a_simulated_one_does():
    full, _, blocks, _ = published_table(TRACE)
    assert blocks.share_held > 0.9 > full.share_held and blocks.fit > full.fit
    assert replay(TRACE, "16-token blocks", capacity=4096).steps > 0


def test_the_example_order_was_kept_out_of_training_and_is_answered_right(courier):
    model, tokenizer = courier
    facts = EXAMPLE_ORDER.split("\n", 1)[1]
    assert crc32(facts.encode()) % HELD_OUT_ONE_IN == 0
    assert not [chat for chat in islice(chats(5), 4000) if facts in chat.system]
    chat = [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": "Who is my courier?"}]
    assert "Rosa" in answer(model, tokenizer, [chat])[0].text
