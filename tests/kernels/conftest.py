"""Kernel tests need Triton, which there is on Linux only: elsewhere they are not collected, and say so."""

from __future__ import annotations

import importlib.util

import pytest

import kvlab  # noqa: F401  before triton: it decides whether kernels are interpreted

collect_ignore_glob = [] if importlib.util.find_spec("triton") else ["test_*.py"]


def pytest_report_header() -> str | None:
    return "kernels: not collected, Triton is not installed" if collect_ignore_glob else None


@pytest.fixture(scope="module", autouse=True)
def quick_interpreter():
    from tests.kernels.running import patched_once

    with patched_once():
        yield
