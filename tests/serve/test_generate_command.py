"""`kvlab generate`: any model by path, streamed, sampled with a seed, chat template and all."""

from __future__ import annotations

import io

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from kvlab.cli.main import main
from kvlab.serve.generate import encode, load, stream_text
from tests.serve.models import COMMON

TEMPLATE = "{% for m in messages %}<u>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model whose tokens are bytes, saved as any other."""
    path = tmp_path_factory.mktemp("tiny")
    special = ["<pad>", "<s>", "</s>", "<u>", "<a>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(special + alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    fast.add_special_tokens({"additional_special_tokens": ["<u>", "<a>"]})
    fast.save_pretrained(path)
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(**{**COMMON, "vocab_size": len(fast), "eos_token_id": 2})).save_pretrained(path)
    return path


def said(capsys, *arguments) -> str:
    assert main(["generate", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_answer_is_that_of_transformers_and_nothing_else_is_printed(folder, capsys):
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), load(str(folder))[1]
    ids = torch.tensor([tokenizer("hello")["input_ids"]])
    expected = model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :]
    assert (
        said(capsys, "hello", "--model", folder, "--max-new-tokens", 12)
        == tokenizer.decode(expected, skip_special_tokens=True) + "\n"
    )


def test_the_same_seed_gives_the_same_answer_and_another_another(folder, capsys):
    ask = ["hello", "--model", folder, "--temperature", 1.5, "--top-p", 0.95, "--top-k", 200, "--max-new-tokens", 20]
    first = said(capsys, *ask, "--seed", 1)
    assert first == said(capsys, *ask, "--seed", 1) != said(capsys, *ask, "--seed", 2)


def test_several_answers_are_numbered_and_a_search_with_beams_finds_what_transformers_finds(folder, capsys):
    ask = ["hello", "--model", folder, "--max-new-tokens", 12]
    lines = said(capsys, *ask, "--n", 3, "--temperature", 1.5, "--seed", 1, "--top-k", 90).splitlines()
    assert lines[0].startswith("1: ") and any(line.startswith("3: ") for line in lines)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), load(str(folder))[1]
    ids = torch.tensor([tokenizer("hello")["input_ids"]])
    found = model.generate(ids, max_new_tokens=12, do_sample=False, num_beams=3, num_return_sequences=2)
    texts = [tokenizer.decode(answer[ids.shape[1] :], skip_special_tokens=True) for answer in found]
    assert said(capsys, *ask, "--beams", 3) == texts[0] + "\n"
    assert said(capsys, *ask, "--beams", 3, "--n", 2) == f"1: {texts[0]}\n2: {texts[1]}\n"


def test_a_prompt_can_come_from_the_standard_input_and_the_default_length_stops_at_the_models(
    folder, capsys, monkeypatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO("x" * 250))  # the model has 256 positions
    assert said(capsys, "-", "--model", folder)


def test_a_chat_template_is_used_if_there_is_one_unless_raw_is_asked_for(folder):
    _, tokenizer = load(str(folder))
    assert tokenizer.decode(encode(tokenizer, "hi")) == "hi"
    tokenizer.chat_template = TEMPLATE
    assert tokenizer.decode(encode(tokenizer, "hi")) == "<u>hi<a>"
    assert tokenizer.decode(encode(tokenizer, "hi", raw=True)) == "hi"


def test_a_character_of_several_tokens_is_printed_once_it_is_complete(folder):
    _, tokenizer = load(str(folder))
    ids = tokenizer("añ\n€b")["input_ids"]
    pieces = list(stream_text(tokenizer, iter(ids)))
    assert "".join(pieces) == "añ\n€b" and "\ufffd" not in "".join(pieces)
    assert "".join(stream_text(tokenizer, ids[:2])) == "a\ufffd"  # cut short by the token limit: shown as it is


def test_spaces_at_the_start_of_a_line_are_kept_where_a_tokenizer_drops_the_first_of_a_text():
    words = ["▁", "▁a", "\n", "b"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="b"))
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    ids = [1, 2, 0, 1, 3, 2, 1, 1]
    assert fast.decode([1]) == "a" and fast.decode(ids) == "a\n  ab\n a a"
    assert "".join(stream_text(fast, ids)) == "a\n  ab\n a a"


def test_what_cannot_be_done_is_said_in_a_sentence(folder, capsys):
    for arguments, says in (
        (["hi", "--model", str(folder / "nothing")], "could be loaded"),
        (["hi", "--model", str(folder), "--max-new-tokens", "5000"], "positions of the model, and there are 256"),
        (["hi", "--model", str(folder), "--max-new-tokens", str(10**12)], "positions of the model, and there are 256"),
        (["hi", "--model", str(folder), "--temperature", "-1"], "cannot be negative"),
        (["", "--model", str(folder)], "at least 1 token"),
        (["hi", "--model", str(folder), "--n", "0", "--temperature", "1"], "n is at least 1"),
        (["hi", "--model", str(folder), "--n", "2"], "greedy answers would all be the same"),
        (["hi", "--model", str(folder), "--n", str(10**12), "--temperature", "1"], "at most 256 may run"),
        (["hi", "--model", str(folder), "--beams", "0"], "at least 2 beams"),
        (["hi", "--model", str(folder), "--beams", "2", "--n", "3"], "returns 1 to as many, not 2 and 3"),
        (["hi", "--model", str(folder), "--beams", "2", "--temperature", "1"], "a beam search does not sample"),
        (["hi", "--model", str(folder), "--seed", "-1"], "a seed is a whole number from 0 on"),
    ):
        assert main(["generate", *arguments]) == 1
        captured = capsys.readouterr()
        assert says in captured.err and "Traceback" not in captured.err and captured.err.count("\n") == 1
