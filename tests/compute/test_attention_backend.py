"""Which implementation runs, and the reason that is given."""

from __future__ import annotations

import pytest

from kvlab.compute import backend, choose_backend, paged_attention, register_backend
from kvlab.errors import UsageError


@pytest.fixture
def entries(monkeypatch):
    monkeypatch.delenv("KVLAB_BACKEND", raising=False)
    monkeypatch.setattr(backend, "_ENTRIES", {"torch": backend._ENTRIES["torch"]})


def test_on_the_cpu_torch_runs_and_says_why(entries):
    chosen = choose_backend("cpu")
    assert chosen.name == "torch" and chosen.attention is paged_attention and "only" in chosen.why


def test_a_better_one_is_preferred_where_it_can_run_and_excused_where_not(entries):
    register_backend("kernel", lambda device: "it needs a GPU" if device.type == "cpu" else None, lambda: print)
    assert choose_backend("cuda:0").name == "kernel"
    fallback = choose_backend("cpu")
    assert fallback.name == "torch" and fallback.why == "torch: kernel cannot run: it needs a GPU"


def test_the_environment_can_force_one_and_a_wrong_wish_is_refused(entries, monkeypatch):
    register_backend("kernel", lambda device: "it needs a GPU", lambda: print)
    monkeypatch.setenv("KVLAB_BACKEND", "torch")
    assert choose_backend("cuda").why == "torch: asked for"
    with pytest.raises(UsageError, match="kernel was asked for but cannot run on cpu: it needs a GPU"):
        choose_backend("cpu", "kernel")
    with pytest.raises(UsageError, match='no implementation "trition".*torch, kernel'):
        choose_backend("cpu", "trition")
