"""Every row of the lesson's "Beyond basic paging" runs here, on a laptop, and shows what it claims."""

from __future__ import annotations

import importlib

import pytest

import kvlab.serve
from kvlab.memory import LLAMA_3_8B, PRESETS
from kvlab.serve import beyond
from kvlab.serve.beyond import beyond_paging
from kvlab.serve.systems import SYSTEMS

SHOWN = {  # smaller than the rows' own settings
    "who does it how": lambda: beyond.show_systems(4),
    "FP8": lambda: beyond.show_fp8(2, 6),
    "offloading and tiers": lambda: beyond.show_tiers(2),
    "vAttention": lambda: beyond.show_virtual(10),
    "GQA, MLA and windows": beyond.show_smaller,
}


@pytest.fixture(scope="module")
def shown() -> dict[str, beyond.Shown]:
    return {name: show() for name, show in SHOWN.items()}


def test_every_row_of_the_section_has_a_call_and_names_parts_that_exist():
    rows = beyond_paging()
    assert list(rows) == list(SHOWN) and kvlab.serve.beyond_paging is beyond_paging
    for row in rows.values():
        assert row.says.endswith(".") and row.run.__doc__
        for part in row.parts:
            home, _, name = part.rpartition(".")
            assert hasattr(importlib.import_module(home), name) or importlib.import_module(part)


@pytest.mark.parametrize("name", SHOWN)
def test_each_shows_numbers_in_words_that_a_page_can_hold(shown, name):
    text, numbers = shown[name]
    assert numbers and text and max(map(len, text.splitlines())) <= 120


def test_the_systems_are_all_there(shown):
    assert list(shown["who does it how"].numbers) == list(SYSTEMS)


def test_fp8_holds_twice_the_tokens_and_a_bad_scale_changes_more_than_a_good_one(shown):
    numbers = shown["FP8"].numbers
    assert numbers["times"] == 2 and numbers["tokens"] == 12
    assert numbers["a scale for each token and head"] <= numbers["one far too small scale"]


def test_a_second_turn_finds_on_disk_what_an_earlier_engine_computed(shown):
    numbers = shown["offloading and tiers"].numbers
    assert numbers["disk"] < numbers["alone"] / 3 and "answers are the same" in shown["offloading and tiers"].text


def test_the_price_of_virtual_memory_is_the_page(shown):
    shares = shown["vAttention"].numbers
    assert shares["2 MiB pages"] < shares["256 KiB pages"] < shares["64 KiB pages"] < 1


def test_a_smaller_token_is_what_the_shapes_say_and_a_window_gives_back_what_it_leaves(shown):
    numbers = shown["GQA, MLA and windows"].numbers
    assert numbers["Llama-3-8B"] * 1024 == LLAMA_3_8B.bytes_per_token
    assert numbers["Mistral-7B-v0.1"] == PRESETS["Mistral-7B-v0.1"].bytes_per_token / 8 / 1024  # 4,096 of 32,768 tokens
    assert numbers["given back"] == (4096 - 1024 + 1) // 16
