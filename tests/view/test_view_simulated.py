"""Figures of simulations tell what their reports hold."""

from __future__ import annotations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import make_trace
from kvlab.serve.costmodel import step_cost
from kvlab.serve.simulate import simulate
from kvlab.view import simulated, simulated_over_time

TIGHT = {"capacity": 12, "block_size": 4, "watermark": 0}


@pytest.fixture(scope="module")
def reports():
    """Two requests that get in each other's way, and one alone."""
    return {
        "two": simulate(make_trace("two", [4, 4], [5, 5]), **TIGHT),
        "one": simulate(make_trace("one", [4], [5]), **TIGHT),
    }


def test_the_comparison_gives_each_reports_numbers_in_words_and_as_values(reports):
    picture = simulated(reports)
    for name, report in reports.items():
        rate, first, first99, between, between99 = picture.values[name]
        assert rate == report.tokens_per_second == report.output_tokens / report.seconds
        assert (first, first99) == (report.first_token.p50, report.first_token.p99)
        assert (between, between99) == (report.between.p50, report.between.p99)
        line = next(line for line in picture.text.splitlines() if line.startswith(f"- {name}: "))
        assert f"{rate:,.0f} tokens a second" in line and f"{first:.3g} s for half" in line
    assert "1 preemption, 0 of these by swapping" in picture.text


def test_bars_are_as_long_as_the_rates_and_marks_stand_at_the_percentiles(reports):
    left, middle, right = simulated(reports).figure.axes
    assert [bar.get_width() for bar in left.patches] == [report.tokens_per_second for report in reports.values()]
    for axes, spread, times in ((middle, "first_token", 1), (right, "between", 1000)):
        drawn = sorted(float(x) for marks in axes.collections for x, _ in marks.get_offsets())
        wanted = sorted(times * value for report in reports.values() for value in getattr(report, spread)[1:])
        assert drawn == pytest.approx(wanted)


def test_over_time_the_lines_pass_through_the_kept_moments_and_end_with_the_run(reports):
    report = reports["two"]
    running, waiting, taken, preemptions = simulated_over_time(report).figure.axes
    for axes, values in (
        (running, [moment.running for moment in report.timeline]),
        (waiting, [moment.waiting + moment.swapped for moment in report.timeline]),
        (taken, [100 * moment.taken / 12 for moment in report.timeline]),
        (preemptions, [moment.preemptions for moment in report.timeline]),
    ):
        (line,) = axes.lines
        assert list(line.get_ydata()) == [*values, values[-1]]
        assert list(line.get_xdata()) == [*(moment.seconds for moment in report.timeline), report.seconds]


def test_the_timeline_counts_preemptions_as_they_come_and_knows_the_memory(reports):
    report = reports["two"]
    counts = [moment.preemptions for moment in report.timeline]
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] == report.preemptions == 1
    assert report.slots == 12


def test_what_stays_zero_has_no_panel(reports):
    labels = [axes.get_ylabel() for axes in simulated_over_time(reports["one"]).figure.axes]
    assert labels == ["run", "% of memory\ntaken"]
    assert len(simulated_over_time(reports).figure.axes) == 4


def test_no_report_and_more_than_can_be_told_apart_are_refused_with_both_numbers(reports):
    for draw in (simulated, simulated_over_time):
        with pytest.raises(UsageError, match="at least 1 report, there were 0"):
            draw({})
    with pytest.raises(UsageError, match="at most 4 reports are told apart over time, there were 5"):
        simulated_over_time({str(number): reports["one"] for number in range(5)})
    nothing = simulate(make_trace("none", [], []), cost=step_cost())
    with pytest.raises(UsageError, match="0 moments, and at least 1"):
        simulated_over_time(nothing)
    assert "0 tokens a second" in simulated(nothing).text
