"""The generator, the tokenizer and the training: seeded, split by order, and the same twice."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import pytest
import torch
from transformers import AutoTokenizer

from kvlab.models import courier_path
from kvlab.models.training.answers import Answer
from kvlab.models.training.batches import IGNORED, batches, encode
from kvlab.models.training.conversations import DRILLS, TOPICS, chats
from kvlab.models.training.fields import fields
from kvlab.models.training.grammar import Turn, say
from kvlab.models.training.howto import HOWTO
from kvlab.models.training.long import GROWING
from kvlab.models.training.measure import claims, facts_right, sentences, shape, well_formed
from kvlab.models.training.orders import draw_order
from kvlab.models.training.recipe import STAGES, Recipe
from kvlab.models.training.tokenizer import learn, wrapped
from kvlab.models.training.train import train
from kvlab.models.training.unseen import FORTY, needed

SMALL = Recipe(3, seed=7, batch_tokens=1024, muon_rate=0.02, adam_rate=0.005, decay=2, early=1, compile=False)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(courier_path())


def test_the_generator_writes_the_same_for_the_same_seed():
    assert list(islice(chats(5), 200)) == list(islice(chats(5), 200))
    assert list(islice(chats(5), 200)) != list(islice(chats(6), 200))


def test_held_out_orders_never_occur_in_training():
    training = {str(chat.order) for chat in islice(chats(1, drills=0.3, notes=0.2), 4000) if chat.order}
    held_out = {str(chat.order) for chat in islice(chats(1, held_out=True), 400)}
    assert not training & held_out
    assert all(chat.order.held_out for chat in islice(chats(2, held_out=True), 50))
    assert not any(chat.order.held_out for chat in islice(chats(2), 4000) if chat.order)


def test_every_written_answer_contains_its_facts_and_no_grammar_is_left_in_it():
    for chat in islice(chats(8, drills=0.2), 3000):
        for turn in chat.turns:
            assert all(fact in turn.answer for fact in turn.facts), turn
            assert not set("[]{}|!") & set(turn.question + turn.answer) and "  " not in turn.answer, turn


def test_every_topic_is_drawn():
    kinds = {turn.kind for chat in islice(chats(8, drills=0.2), 3000) for turn in chat.turns}
    assert kinds >= {topic.kind for topic in TOPICS} | set(GROWING) - {"missing two"} | {"no order"}


def test_a_drill_asks_only_for_single_facts():
    assert {turn.kind for chat in islice(chats(8, drills=1.0), 200) for turn in chat.turns} <= set(DRILLS[0])


def test_a_note_is_answered_by_a_line_of_its_few_or_by_what_stands_behind_the_label():
    for chat in [*islice(chats(8, notes=1.0), 200), *islice(chats(8, notes=1.0, hard=4), 200)]:
        lines = chat.system.split("\n")
        assert 2 <= len(lines) <= 9
        answers = [part for turn in chat.turns for part in turn.answer.split("\n")]
        assert all(any(line.endswith(part) for line in lines) for part in answers)


def test_a_yes_or_a_no_about_an_allergen_answers_the_question_that_was_asked_in_every_wording():
    drawn = [turn for chat in islice(chats(9, drills=1.0, hard=4), 500) for turn in chat.turns]
    turns = [turn for turn in drawn if turn.kind == "allergy"]
    assert len(turns) > 500
    eating = re.compile(r"\b(eat|safe|okay|fine|all right|have the|serve|give them|something to have)\b")
    for turn in turns:
        if turn.answer.startswith("Yes"):
            assert not eating.search(turn.question.lower()), turn
        if turn.answer.startswith(("No, the", "Better not", "Please do not eat it:")) and "contains" in turn.answer:
            assert not re.match(r"(does|is there|are there) ", turn.question.lower()), turn


def test_every_question_how_to_do_something_says_what():
    for topic in HOWTO:
        for ask in (*topic.asks, *(ask for level in topic.more for ask in level)):
            assert "{" not in ask.replace("{courier}", "")
    drawn = [turn for chat in islice(chats(9, hard=4), 1500) for turn in chat.turns if turn.kind == "how to"]
    assert len(drawn) > 200
    for turn in drawn:
        assert not re.search(r"\b(how|ways|where|need|want) to[,.? ]*$|\bdo I( too)?[,.? ]*$", turn.question), turn


def test_blurred_and_shortened_questions_still_name_what_they_are_about():
    drawn = [turn for chat in islice(chats(9, drills=1.0, hard=4), 300) for turn in chat.turns]
    asked = [turn for turn in drawn if turn.kind in ("missing", "cold") and "euros" in turn.answer]
    assert len(asked) > 100
    assert all(turn.facts[0].split(" for the ")[-1].lower() in turn.question.lower() for turn in asked)


def test_what_counts_as_complete_is_in_every_answer_that_the_generator_writes():
    r = Random(3)
    for _ in range(400):
        order = draw_order(r)
        item = r.choice(order.items)
        for kind in FORTY:
            facts = [topic for topic in TOPICS if topic.kind == kind and topic.fits(order)]
            for topic in facts:
                written = topic.turn(r, fields(order, item)).answer
                assert all(fact in written for fact in needed(kind, order, item, "egg")), (kind, written)


def test_say_picks_alternatives_inside_alternatives():
    texts = {say(Random(seed), "[a [b|c]|d] {x} .", {"x": "1"}) for seed in range(50)}
    assert texts == {"a b 1.", "a c 1.", "d 1."}


def test_encoding_a_chat_is_applying_the_template_and_only_answers_are_predicted(tokenizer):
    for chat in islice(chats(4), 60):
        ids, targets = encode(chat, tokenizer)
        assert ids == tokenizer.apply_chat_template(chat.messages(), return_dict=False)
        wanted = [token for token in targets if token != IGNORED]
        assert tokenizer.decode(wanted) == "".join(f"{turn.answer}<|end|>" for turn in chat.turns)


def test_batches_stay_within_their_tokens(tokenizer):
    for ids, targets in islice(batches(tokenizer, chats(3, drills=0.3), 2048, pool=64), 20):
        assert ids.shape == targets.shape and ids.numel() <= 2048


def test_learning_the_tokenizer_twice_gives_the_same_bytes_as_many_tokens_as_ship(tmp_path: Path, tokenizer):
    for name in ("once", "twice"):
        wrapped(learn()).save_pretrained(tmp_path / name)
    once, twice = ((tmp_path / name / "tokenizer.json").read_bytes() for name in ("once", "twice"))
    assert once == twice
    again = AutoTokenizer.from_pretrained(tmp_path / "once")
    assert len(again) == len(tokenizer) and again.chat_template == tokenizer.chat_template


def test_two_trainings_with_one_seed_give_the_same_bytes(tmp_path: Path, tokenizer):
    weights = []
    for name in ("once", "twice"):
        tokenizer.save_pretrained(tmp_path / name)
        train(SMALL, tmp_path / name)
        train(SMALL, tmp_path / name, go_on=True)
        weights.append((tmp_path / name / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]


def test_the_learning_rate_rises_stays_and_falls_to_zero():
    recipe = replace(SMALL, steps=1000, warmup=10, decay=500)
    rates = [recipe.rate(step) for step in range(1000)]
    assert rates[0] == 0.1 and set(rates[10:500]) == {1.0} and rates[-1] == pytest.approx(1 / 500)


def test_measures_notice_wrong_facts_made_up_names_and_broken_sentences():
    said = Answer("Amina is on the way and should arrive at 18:05.", 10, 12, True)
    broken = Answer("Amina way the is on.", 10, 12, True)
    turn = Turn("where", "", "", ("Amina", "18:55"))
    assert facts_right([turn], [said]) == (1, 2)
    assert claims(said.text, "Courier: Amina\nExpected: 18:55") == (1, 2)
    assert well_formed([said, broken]) == (1, 2)


def test_shapes_forget_names_and_numbers():
    assert shape("You ordered 2 x Naan, 1 x Dal and 3 x Samosa.") == "You ordered # x DISH."
    parts = ["Here:", "- 1 x Dal", "1. Open the order.", "Tap it."]
    assert sentences("Here:\n- 1 x Dal\n1. Open the order. Tap it.") == parts


def test_training_leaves_torch_as_it_was(tmp_path: Path) -> None:
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with pytest.raises((OSError, ValueError)):  # there is no tokenizer in that folder
        train(STAGES[0], tmp_path)
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == before
    assert torch.tensor(1e-40) * 1 != 0  # a denormal is still a number
