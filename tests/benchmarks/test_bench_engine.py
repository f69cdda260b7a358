"""The engine's benchmark in small: everybody's tokens agree, and the order of the systems is not upside down."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.benchmark
def test_the_engine_is_faster_than_serving_one_by_one_and_everybodys_tokens_are_the_same(tmp_path, root):
    ratios = tmp_path / "ratios.json"
    # In a process of its own, where no thread of another test competes with the systems that are compared.
    command = [sys.executable, "-m", "tests.benchmarks.bench_engine", "--requests", "10", "--loads", "decode-heavy"]
    subprocess.run([*command, "--json", str(ratios)], cwd=root, check=True, timeout=250)
    found = json.loads(ratios.read_text())["decode-heavy"]
    assert found["requests with the same tokens"] == 1.0
    assert found["over one by one"] > 1  # generous: several times as fast where nothing else runs
    assert found["share of planning"] < 0.15
