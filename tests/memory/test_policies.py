"""The four reservation policies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.errors import UsageError
from kvlab.memory import POLICIES, next_power_of_two, reserve


def test_each_policy_reserves_what_its_name_says() -> None:
    assert [reserve(policy, 1000, 300) for policy in POLICIES] == [8192, 3048, 1512, 1300]


@pytest.mark.parametrize(("number", "expected"), [(0, 1), (1, 1), (2, 2), (3, 4), (255, 256), (256, 256), (257, 512)])
def test_a_power_of_two_is_its_own_next(number: int, expected: int) -> None:
    assert next_power_of_two(number) == expected


@given(st.sampled_from(POLICIES), st.integers(0, 8192), st.integers(0, 2048), st.integers(1, 8192))
def test_no_policy_reserves_beyond_the_context_and_none_too_little(
    policy: str, prompt: int, answer: int, context: int
) -> None:
    slots = reserve(policy, prompt, answer, context)
    assert min(prompt + answer, context) <= slots <= context


def test_the_oracle_is_the_least_and_the_full_context_the_most() -> None:
    for prompt, answer in ((1, 1), (1000, 300), (1500, 2048), (6000, 2048)):
        oracle, *others = (reserve(policy, prompt, answer) for policy in reversed(POLICIES))
        assert oracle <= min(others)
        assert max(others) == reserve("full", prompt, answer) == 8192


def test_an_unknown_policy_is_refused_with_the_four() -> None:
    with pytest.raises(UsageError, match="no policy 'max'.*'full', 'prompt\\+max', 'power of two', 'oracle'"):
        reserve("max", 1, 1)


@pytest.mark.parametrize("lengths", [(-1, 1), (1, -1)])
def test_negative_lengths_are_refused(lengths: tuple[int, int]) -> None:
    with pytest.raises(UsageError):
        reserve("full", *lengths)
