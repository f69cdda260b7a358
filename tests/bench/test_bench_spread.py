"""How a call is timed and summed up, on clocks that say what they are told."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.bench.spread import FEW, LEAST, MOST, WARM_UP, CpuClock, repeats_for, spread, timed
from kvlab.errors import UsageError


class Told:
    """A clock whose every call takes the next of the given seconds, and then the last for ever."""

    def __init__(self, *seconds: float) -> None:
        self.seconds, self.time, self.calls = list(seconds), 0.0, 0

    def now(self) -> float:
        return self.time

    def call(self) -> None:
        self.calls += 1
        self.time += self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]


@given(st.lists(st.floats(1e-6, 10), min_size=2, max_size=60))
def test_the_spread_is_that_of_the_standard_library(seconds) -> None:
    found = spread(seconds)
    tenths = statistics.quantiles(seconds, n=10, method="inclusive")
    assert found.median == pytest.approx(statistics.median(seconds))
    assert (found.p10, found.p90) == (pytest.approx(tenths[0]), pytest.approx(tenths[-1]))
    assert found.repeats == len(seconds)


@pytest.mark.parametrize("seconds", [[], [0.0, 1.0], [-1.0]])
def test_times_that_cannot_be_are_refused(seconds) -> None:
    with pytest.raises(UsageError):
        spread(seconds)


def test_the_first_slow_call_which_compiles_does_not_count() -> None:
    told = Told(5.0, 0.0009765625)  # a power of two, so that sums of it are exact
    found = timed(told.call, CpuClock(told.now), 0.02)
    assert found.p90 == 0.0009765625 == found.host
    assert found.repeats == 20 and told.calls > WARM_UP + 20


def test_a_slow_call_is_made_only_a_few_times() -> None:
    told = Told(2.0)
    assert timed(told.call, CpuClock(told.now), 0.02) == (pytest.approx(2.0),) * 3 + (FEW, pytest.approx(2.0))
    assert told.calls == FEW + 2


def test_repeats_stay_within_bounds_however_fast_a_call_is() -> None:
    assert repeats_for(0.0, 1.0) == MOST and repeats_for(0.04, 0.001) == LEAST and repeats_for(0.001, 0.02) == 20


def test_an_error_of_the_call_is_passed_on() -> None:
    with pytest.raises(ZeroDivisionError):
        timed(lambda: 1 / 0, CpuClock())


def test_real_time_passes() -> None:
    found = timed(lambda: sum(range(1000)), CpuClock(), 0.001)
    assert 0 < found.p10 <= found.median <= found.p90 and found.repeats >= LEAST
