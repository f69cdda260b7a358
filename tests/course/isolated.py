"""A notebook whose checks run in a fork or in a thread and are stopped soon, and a look for what still runs."""

from __future__ import annotations

import dataclasses
import sys
import threading

import pytest

from kvlab.course import registry
from tests.course import small
from tests.course.cells import Notebook

ISOLATED = [pytest.param(True, id="forked", marks=pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux")),
            pytest.param(False, id="threaded")]


@pytest.fixture(params=ISOLATED)
def quick(request):
    """A notebook whose exercises are stopped after 0.4 s, in a fork or in a thread."""
    entries = [dataclasses.replace(entry, isolate=request.param, seconds=0.4) for entry in small.EXERCISES]
    with registry.declared(*entries):
        yield Notebook()


def assert_nothing_runs_on():
    """No thread of a check or of a hunt is left."""
    for thread in [thread for thread in threading.enumerate() if thread.name in ("kvlab check", "kvlab hunt")]:
        thread.join(60)  # it has been stopped, and may be about to leave
        assert not thread.is_alive()
