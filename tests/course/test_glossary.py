"""The glossary knows the words of the labs and of the design, and every invariant, and says each briefly."""

from __future__ import annotations

import re

import pytest

from kvlab.course import glossary, registry
from kvlab.course.terms import every, find
from tests.labs.notebooks import cells, committed, names

FIELD = ("block", "block pool", "block table", "slot", "slot mapping", "reference count", "fork", "copy-on-write",
         "prefix cache", "preemption", "recompute", "swap", "watermark", "token budget", "chunked prefill",
         "null block", "KV cache", "GQA", "MQA", "MHA", "MLA", "prefill", "decode", "radix tree", "tier",
         "sliding window", "FP8", "scale", "perplexity", "log-sum-exp", "virtual memory", "continuous batching")
NO_TERM = {"-1: write nothing", "without", "done", "keep", "slice"}  # bold for emphasis


def new_terms(name: str) -> list[str]:
    """What a lab sets in bold, invariants, labels and whole sentences left out."""
    bold = [" ".join(found.split()) for cell in cells(committed("labs", name), "markdown")
            for found in re.findall(r"\*\*(.+?)\*\*", cell.source, re.DOTALL)]
    words = [one.rstrip(".") for one in bold if not re.fullmatch(r"I\d+|Predict.*|[○✗✓].*", one)]
    return [one for one in words if len(one.split()) <= 6 and one not in NO_TERM]


@pytest.mark.parametrize("name", names())
def test_every_term_that_a_lab_sets_in_bold_is_in_the_glossary(name: str) -> None:
    missing = [term for term in new_terms(name) if find(term) is None]
    assert missing == [], f"add them to kvlab/course/glossary.txt and run `kvlab guide --write docs`: {missing}"


@pytest.mark.parametrize("term", FIELD)
def test_the_words_of_the_field_are_in_the_glossary(term: str) -> None:
    found = find(term)
    assert found is not None and (found.lab in registry.TITLES)


def test_every_invariant_is_listed_with_the_lab_that_names_it_first() -> None:
    listed = {term.names[0]: term.lab for term in every() if term.number}
    assert list(listed) == [f"I{number}" for number in range(1, 14)]
    first: dict[str, str] = {}
    for name in names():
        for cell in cells(committed("labs", name), "markdown"):
            for found in re.findall(r"\*\*(I\d+)\*\*", cell.source):
                first.setdefault(found, name[:2])
    assert first == listed


def test_the_invariants_are_said_one_by_one_or_all_together(capsys: pytest.CaptureFixture[str]) -> None:
    glossary("i3")
    one = capsys.readouterr().out
    assert one.startswith("I3: A sequence of `n` tokens has exactly") and one.endswith("(Lab 03)\n")
    glossary("invariants")
    said = capsys.readouterr().out
    assert said.startswith("invariant: ") and one in said
    assert re.findall(r"(?m)^I\d+", said) == [f"I{number}" for number in range(1, 14)]


def test_a_term_takes_two_sentences_at_most_and_no_name_stands_twice() -> None:
    for term in every():
        text = re.sub(r"`[^`]*`", "x", term.text)
        assert len(re.findall(r"[.?](?:\s|$)", text)) <= 2 and text.endswith((".", "?", ")")), term.names[0]
        assert "!" not in term.text
    everything = [name.lower() for term in every() for name in term.names]
    assert len(everything) == len(set(everything)) >= 97


def test_a_term_is_found_whatever_its_capitals_hyphens_and_number(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("Copy on write", "copy-on-write", "BLOCK TABLES"):
        assert find(name) is not None
    glossary("block tables")
    assert capsys.readouterr().out.startswith("block table: A request's list of physical blocks")


def test_an_unknown_term_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    glossary("radix")
    assert "Did you mean radix tree?" in capsys.readouterr().out
    glossary("zebra")
    assert capsys.readouterr().out == "zebra is not in the glossary. glossary() lists what is.\n"
    glossary()
    assert "Lab 03: block, block pool" in capsys.readouterr().out
