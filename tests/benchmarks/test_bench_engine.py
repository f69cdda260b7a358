"""The engine's benchmark in small: everybody's tokens agree, and the order of the systems is not upside down."""

from __future__ import annotations

import pytest

from tests.benchmarks.bench_engine import load, measure, one_thread


@pytest.mark.benchmark
def test_the_engine_is_faster_than_serving_one_by_one_and_everybodys_tokens_are_the_same():
    with one_thread():
        rates, right, planning = measure(load(10, 8, 40), rounds=1)
    assert set(right.values()) == {10}
    assert rates["kvlab"] > rates["one by one"]  # generous: several times as fast where nothing else runs
    assert planning < 0.15
