"""What every test may rely on: the repository's root is on the path, last, so that it shadows nothing."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # `from tests.labs.notebooks import ...`, also under a bare `pytest`

os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")  # this environment's kernel, before a "python3" of the user's

# A shell that puts a test run into the background has it ignore interrupts, and whoever it starts inherits that. A
# notebook's kernel hears them, so the tests do.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


SLOW = [line for line in (ROOT / "tests" / "slow.txt").read_text().splitlines() if line and not line.startswith("#")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what tests/slow.txt names: whole files, or functions with all their parameters."""
    for item in items:
        if any(item.nodeid == name or item.nodeid.startswith((f"{name}::", f"{name}[")) for name in SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT
