"""Every test of the course starts with a fresh session whose progress stays in memory, and with the small exercises."""

from __future__ import annotations

import pytest

from kvlab.course import registry
from kvlab.course.session import restart
from tests.course import small
from tests.course.cells import Notebook


@pytest.fixture(autouse=True)
def fresh_session(monkeypatch):
    """A session as after a kernel restart, with progress in memory."""
    monkeypatch.setenv("KVLAB_PROGRESS", "off")
    return restart()


@pytest.fixture
def notebook():
    """A notebook that knows the small exercises as lab 97."""
    with registry.declared(*small.EXERCISES):
        yield Notebook()
