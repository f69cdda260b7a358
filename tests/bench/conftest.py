"""Runs that were made up for tests, on a device that does not exist, and the tests that only a GPU can collect."""

from __future__ import annotations

import kvlab

collect_ignore = [] if kvlab.has_gpu() else ["test_bench_gpu.py"]
