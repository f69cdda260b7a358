"""Text from tokens: whatever the pieces, nothing is lost, no character is halved, and no stop gets through."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from kvlab.serve.detokenize import INCOMPLETE, Detokenizer, StopText
from kvlab.serve.http.texts import Texts
from tests.serve.serving import courier

BYTES = bytes_to_unicode()


@pytest.fixture(scope="module")
def by_bytes() -> PreTrainedTokenizerFast:
    """Token i is byte i; 256 is special and says nothing."""
    tokenizer = Tokenizer(models.BPE({**{sign: byte for byte, sign in BYTES.items()}, "<e>": 256}, []))
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<e>")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=st.text(alphabet=st.characters(exclude_characters=INCOMPLETE, codec="utf-8"), max_size=20))
def test_each_piece_is_whole_characters_that_come_with_their_last_token(
    by_bytes: PreTrainedTokenizerFast, text: str
) -> None:
    detokenizer = Detokenizer(by_bytes)
    pieces = [detokenizer.push(token) for token in text.encode()]
    assert "".join(pieces) == text and detokenizer.finish() == ""
    assert [piece for piece in pieces if piece] == list(text)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(tokens=st.lists(st.integers(0, 256) | st.sampled_from([0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0xC3, 65]), max_size=40))
def test_bytes_that_make_no_text_come_out_as_they_would_all_at_once_and_not_much_later(
    by_bytes: PreTrainedTokenizerFast, tokens: list[int]
) -> None:
    detokenizer = Detokenizer(by_bytes)
    said = ""
    for count, token in enumerate(tokens, 1):
        said += detokenizer.push(token)
        there = [token for token in tokens[:count] if token != 256]
        assert len(bytes(there[:-8]).decode(errors="replace")) <= len(said) + 8  # what is held back stays short
    whole = by_bytes.decode(tokens, skip_special_tokens=True) if tokens else ""
    assert said + detokenizer.finish() == whole


def test_a_special_token_between_words_does_not_take_the_space_after_it() -> None:
    words = {"▁a": 0, "▁b": 1, "<s>": 2}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<s>"))
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")
    detokenizer = Detokenizer(fast)
    assert [detokenizer.push(token) for token in (2, 0, 2, 1)] == ["", "a", "", " b"]


def first_stop(text: str, stops: list[str]) -> str:
    """What may be said of `text`, by looking at each of its beginnings."""
    for end in range(len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            return text[: end - max(map(len, ending))]
    return text


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    pieces=st.lists(st.text(alphabet="ab", max_size=4), max_size=10),
    stops=st.lists(st.text(alphabet="ab", min_size=1, max_size=5), max_size=3),
)
def test_text_goes_through_up_to_the_first_stop_however_it_is_cut(pieces: list[str], stops: list[str]) -> None:
    expected = first_stop("".join(pieces), stops)
    filter_ = StopText(stops)
    said = ""
    for piece in pieces:
        said += filter_.push(piece)
        assert expected.startswith(said)
    assert filter_.stopped == (len(expected) < len("".join(pieces)))
    assert said + filter_.finish() == expected


def test_a_tokens_bytes_are_known_where_it_is_no_text_alone() -> None:
    texts = Texts(courier()[1])
    ids = texts.prompt("h\u00e9 \u2713")
    assert b"".join(texts.token(token)[1] for token in ids) == "h\u00e9 \u2713".encode()
    assert texts.token(ids[1])[0] == "bytes:\\xc3" and texts.token(ids[0])[0] == "h"
