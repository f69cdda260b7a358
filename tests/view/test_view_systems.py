"""The systems side by side: bars as long as the outcomes, and the same in words."""

from __future__ import annotations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import multi_turn
from kvlab.serve.system_runs import Machine
from kvlab.serve.systems import SYSTEMS, side_by_side
from kvlab.view import systems_side_by_side


@pytest.fixture(scope="module")
def outcomes():
    trace = multi_turn(6, 2, 2, system=200, question=40, answer=40, rate=40.0, pause=2.0)
    return side_by_side(trace, Machine(capacity=2048, most=60))


def test_each_system_has_a_line_of_words_with_its_numbers(outcomes):
    picture = systems_side_by_side(outcomes)
    lines = picture.text.splitlines()
    assert len(lines) == len(SYSTEMS) and list(picture.values) == list(SYSTEMS)
    for line, (name, outcome) in zip(lines, outcomes.items(), strict=True):
        rate, running, hits, left, held, empty = picture.values[name]
        assert line.startswith(f"- {name}: {rate:,.0f} token") and f"{100 * hits:.1f} % of prompt tokens found" in line
        assert (rate, running, left, held) == (
            outcome.tokens_per_second, outcome.running, outcome.preemptions, outcome.waste.held
        )  # fmt: skip
        assert empty == outcome.waste.later + outcome.waste.internal and f"{100 * held:.1f} % of memory" in line


def test_bars_are_as_long_as_the_numbers_and_the_memory_stacks_up(outcomes):
    *panels, memory = systems_side_by_side(outcomes).figure.axes
    values = [
        [outcome.tokens_per_second for outcome in outcomes.values()],
        [outcome.running for outcome in outcomes.values()],
        [100 * outcome.hit_rate for outcome in outcomes.values()],
        [outcome.preemptions for outcome in outcomes.values()],
    ]
    for axes, wanted in zip(panels, values, strict=True):
        assert [bar.get_width() for bar in axes.patches] == pytest.approx(wanted)
    for row, outcome in enumerate(outcomes.values()):
        bars = memory.patches[row :: len(outcomes)]
        assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(100 * (1 - outcome.waste.free))
    names = [label.get_text() for label in panels[0].get_yticklabels()]
    assert names == list(outcomes)


def test_some_systems_can_be_drawn_alone_and_none_is_refused(outcomes):
    picture = systems_side_by_side({"vLLM": outcomes["vLLM"]})
    assert picture.title == "One trace, one memory, each policy" and len(picture.text.splitlines()) == 1
    with pytest.raises(UsageError, match="at least 1 outcome, there were 0"):
        systems_side_by_side({})


def test_the_picture_is_the_same_each_time(outcomes):
    assert systems_side_by_side(outcomes).png == systems_side_by_side(outcomes).png
