"""Requests, traces and their files: what is kept, what is refused, and that the lesson's trace never changes."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import LESSON_SEED, Request, Trace, lesson_trace, make_trace, prompt_tokens

segment = st.tuples(st.integers(0, 2**40), st.integers(0, 2000))


@st.composite
def requests(draw: st.DrawFn) -> Request:
    segments = tuple(draw(st.lists(segment, max_size=3)))
    prompt = sum(length for _, length in segments)
    if not prompt:
        segments, prompt = (), draw(st.integers(1, 10_000))
    return Request(prompt, draw(st.integers(0, 10_000)), draw(st.floats(0, 1e9)), segments)


@settings(max_examples=40)
@given(st.text(), st.lists(requests(), max_size=8))
def test_a_saved_trace_is_loaded_as_it_was(tmp_path_factory, name: str, rows: list[Request]) -> None:
    trace = Trace(name, tuple(sorted(rows, key=lambda request: request.arrival)))
    path = tmp_path_factory.getbasetemp() / "trace.json"
    trace.save(path)
    assert Trace.load(path) == trace


def test_the_lessons_trace_is_the_one_kept_as_json() -> None:
    with resources.as_file(resources.files("kvlab.memory") / "lesson_trace.json") as path:
        assert Trace.load(path) == lesson_trace()


def test_the_lessons_trace_is_drawn_as_its_page_says() -> None:
    r = np.random.default_rng(21419)
    answer = np.clip(np.floor(r.lognormal(np.log(300) - 1.2**2 / 2, 1.2, 200)), 1, 2048)
    prompt = r.integers(200, 1501, 200)
    trace = lesson_trace()
    assert LESSON_SEED == 21419
    assert [(request.prompt, request.answer) for request in trace] == list(zip(prompt, answer, strict=True))
    assert (prompt.mean(), answer.mean(), np.median(answer)) == pytest.approx((913.8, 353.6, 168), abs=0.1)


def test_another_seed_gives_another_trace_of_another_name() -> None:
    assert lesson_trace(1) != lesson_trace()
    assert lesson_trace(1).name != lesson_trace().name == "lesson"
    assert lesson_trace(1) == lesson_trace(1)


def test_a_trace_can_be_walked_and_counted() -> None:
    trace = make_trace("two", [10, 20], np.array([1, 2]))
    assert len(trace) == 2
    assert [request.total for request in trace] == [11, 22]
    assert all(type(request.answer) is int for request in trace)


def test_a_trace_made_of_a_list_is_as_good_as_one_made_of_a_tuple() -> None:
    assert Trace("x", [Request(1, 1)]) == Trace("x", (Request(1, 1),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0, 1), "prompt.*from 1 on, not 0"),
        ((-5, 1), "prompt.*-5"),
        ((2.5, 1), "prompt.*2.5"),
        ((True, 1), "prompt.*True"),
        ((1, -1), "answer.*-1"),
        ((1, 1, -0.5), "arrival.*-0.5"),
        ((1, 1, float("nan")), "arrival.*nan"),
        ((1, 1, float("inf")), "arrival.*inf"),
        ((1, 1, "0"), "arrival.*'0'"),
        ((10, 1, 0.0, ((1, 4), (2, 5))), "segments have 9 tokens, the prompt has 10"),
        ((10, 1, 0.0, ((1, -4), (2, 14))), "length.*-4"),
        ((10, 1, 0.0, ((-1, 10),)), "seed.*-1"),
    ],
)
def test_an_impossible_request_is_refused_and_says_why(arguments: tuple, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        Request(*arguments)


def test_requests_out_of_order_are_refused() -> None:
    with pytest.raises(UsageError, match="request 1 arrives at 1.0 s, after one that arrives at 2.0 s"):
        Trace("x", (Request(1, 1, 2.0), Request(1, 1, 1.0)))


GOOD = {"prompt": 3, "answer": 1}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "not JSON"),
        ("{", "not JSON.*line 1 column 2"),
        ("[1, 2]", "not a trace"),
        ('{"name": "x"}', "not a trace"),
        ('{"name": 3, "requests": []}', "not a trace"),
        ('{"name": "x", "requests": {}}', "not a trace"),
        (json.dumps({"name": "x", "requests": [GOOD, 7]}), "request 1: needs an object.*7"),
        (json.dumps({"name": "x", "requests": [{"prompt": 3}]}), "request 0: needs an object with prompt and answer"),
        (json.dumps({"name": "x", "requests": [GOOD | {"colour": 1}]}), "request 0: needs an object"),
        (json.dumps({"name": "x", "requests": [GOOD | {"prompt": -3}]}), "request 0: prompt.*-3"),
        (json.dumps({"name": "x", "requests": [GOOD | {"prompt": "3"}]}), "request 0: prompt.*'3'"),
        (json.dumps({"name": "x", "requests": [GOOD | {"segments": [3]}]}), "request 0: segments are a list of"),
        (json.dumps({"name": "x", "requests": [GOOD | {"segments": [[1, 2, 3]]}]}), "request 0: segments are"),
        (json.dumps({"name": "x", "requests": [GOOD | {"segments": [[1, 2]]}]}), "request 0: the segments have 2"),
        (json.dumps({"name": "x", "requests": [GOOD | {"arrival": 2}, GOOD]}), "request 1 arrives at 0.0 s"),
        ('{"name": "x", "requests": [{"prompt": 3, "answer": 1, "arrival": NaN}]}', "request 0: arrival.*nan"),
    ],
)
def test_a_malformed_file_is_refused_by_name_and_place(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=match) as refusal:
        Trace.load(path)
    assert str(path) in str(refusal.value)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not JSON"):
        Trace.load(path)


def test_equal_segments_are_equal_tokens_and_a_shorter_one_is_the_beginning_of_a_longer() -> None:
    one, two = Request(70, 1, 0.0, ((7, 40), (8, 30))), Request(90, 1, 0.0, ((7, 60), (9, 30)))
    first, second = prompt_tokens(one, 1000), prompt_tokens(two, 1000)
    assert (len(first), len(second)) == (70, 90)
    assert first.dtype == np.int32
    assert (first[:40] == second[:40]).all()
    assert (first[40:] != second[60:]).any()
    assert (prompt_tokens(one, 1000) == first).all()
    assert first.min() >= 0 and first.max() < 1000


@given(st.integers(1, 200_000), st.integers(0, 300), st.integers(0, 300))
def test_the_tokens_of_a_text_do_not_depend_on_how_many_are_asked_for(vocabulary: int, some: int, more: int) -> None:
    short, long = Request(1 + some, 1, 0.0, ((3, 1 + some),)), Request(1 + some + more, 1, 0.0, ((3, 1 + some + more),))
    assert (prompt_tokens(long, vocabulary)[: 1 + some] == prompt_tokens(short, vocabulary)).all()


def test_tokens_of_bare_lengths_or_of_no_vocabulary_are_refused() -> None:
    with pytest.raises(UsageError, match="no segments"):
        prompt_tokens(Request(5, 1), 100)
    with pytest.raises(UsageError, match="vocabulary"):
        prompt_tokens(Request(5, 1, 0.0, ((0, 5),)), 0)
