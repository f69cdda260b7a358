"""The view of a running engine, on courier and without a notebook."""

from __future__ import annotations

import io
from collections import Counter
from itertools import count

import ipywidgets
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.image import imread

from kvlab.models import load_courier
from kvlab.serve import Engine, Policies, Sampling
from kvlab.serve.policies import always_swap
from kvlab.view import watch
from kvlab.view.enginemap import ALONE, BLANK, CELLS, HOST, IDLE, SHARED, block_states
from tests.serve.models import tiny


@pytest.fixture(scope="module")
def courier():
    return load_courier()[0]


def crowded(courier, **options) -> Engine:
    """Six requests in a pool that is too small for them, with a host to swap to."""
    engine = Engine(courier, 12, 4, host_blocks=8, policies=Policies(swap=always_swap), **options)
    for number in range(6):
        engine.submit([5 + number, 9, 11, 7, 3], 9, eos=())
    return engine


def test_watching_gives_the_tokens_that_running_gives(courier):
    plain, seen = crowded(courier), crowded(courier)
    wanted = list(plain.waiting), list(seen.waiting)
    plain.run()
    steps = sum(1 for _ in watch(seen))
    assert steps == seen.steps == plain.steps
    assert [generation.tokens for generation in wanted[0]] == [generation.tokens for generation in wanted[1]]


def test_each_turn_gives_who_got_a_token_and_the_frame_agrees_with_the_engine(courier):
    engine = crowded(courier)
    view, tokens, swapped = watch(engine, every=0), 0, 0
    for got in view:
        tokens += len(got)
        values = view.frame().values
        stats, kinds = values["stats"], Counter(values["states"])
        owners = Counter(block for name in engine.manager for block in engine.manager.table(name))
        assert stats == engine.stats() and tokens == stats.generated_tokens
        assert kinds[ALONE] + kinds[SHARED] == len(owners) == stats.blocks - stats.blocks_free
        assert kinds[HOST] == stats.host_blocks - stats.host_blocks_free
        assert sum(kinds.values()) == 20
        swapped += stats.swapped
        assert f"{stats.running} request{'s' * (stats.running != 1)} running, {stats.waiting} waiting" in repr(view)
    assert swapped and engine.stats().swaps
    assert "54 tokens so far; 6 requests ended" in repr(view)


def test_blocks_with_several_owners_and_those_that_can_be_found_are_told_apart(courier):
    engine = Engine(courier, 16, 4, prefix="hash")
    engine.sample(list(range(5, 17)), 3, 4, Sampling(temperature=1.0, seed=1), eos=())
    seen = [Counter(block_states(engine).tolist()) for _ in watch(engine)]
    assert max(kinds[SHARED] for kinds in seen) == 3
    after = Counter(block_states(engine).tolist())
    assert after[IDLE] == engine.manager.pool.num_cached > 0 and after[BLANK] + after[IDLE] == 16
    assert f"16 blocks free, of which {after[IDLE]} can still be found" in repr(watch(engine))


def test_the_null_block_of_a_model_with_windows_has_no_owner():
    engine = Engine(tiny("mistral"), 12, 4, hybrid=True)
    engine.submit(list(range(5, 25)), 9, eos=())
    for _ in watch(engine, every=0):
        states = block_states(engine)
        assert states[0] == BLANK and (states == ALONE).sum() == engine.stats().blocks - engine.stats().blocks_free
    assert engine.manager.pool.ref_count(0) == 1 and (block_states(engine) == BLANK).all()


def test_a_large_pool_is_shown_in_a_small_map_and_nothing_that_is_taken_disappears(courier):
    engine = Engine(courier, 3 * CELLS, 1)
    engine.submit([5, 9, 11], 2, eos=())
    engine.step()
    states = block_states(engine)
    assert len(states) == CELLS and (states == ALONE).sum() == -(-engine.manager.pool.counts.count(1) // 3)
    assert "a square stands for 3 blocks" in repr(watch(engine))


def test_it_refreshes_when_it_is_due_and_rests_fifty_times_as_long_as_a_refresh_takes(courier):
    now = [0.0]
    view = watch(crowded(courier), every=1.0, clock=lambda: now[0])
    for now[0] in (0.5, 0.9):
        view()
    assert view.refreshes == 0
    now[0] = 1.0
    view()
    view()
    assert view.refreshes == 1
    ticks = count(100)
    slow = watch(crowded(courier), every=1.0, clock=lambda: float(next(ticks)))  # each look at the clock is a second
    slow.refresh()
    calls = next(number for number in count(1) if slow() or slow.refreshes == 2)
    assert calls >= 50


def test_tokens_a_second_are_those_since_the_last_refresh(courier):
    now = [0.0]
    engine = crowded(courier)
    view = watch(engine, every=0, clock=lambda: now[0])
    for now[0], wanted in ((2.0, 2.0), (2.5, 0.5)):
        before = engine.generated_tokens
        engine.step()
        view()
        assert view.frame().values["tokens_per_second"] == (engine.generated_tokens - before) / wanted > 0
    assert "tokens a second" in view.frame().headline


def test_the_widget_is_one_and_follows_the_engine(courier):
    engine = crowded(courier)
    view = watch(engine, every=0, clock=lambda: 0.0)  # no refresh takes any time
    box = view.widget()
    headline, image, details = box.children
    seen = set()
    for _ in view:
        seen.add((headline.value, image.value))
        assert f"Step {engine.steps}:" in headline.value and "on the host" in details.value
    assert len(seen) == engine.steps and view.widget() is box
    assert isinstance(image, ipywidgets.Image) and "aria-live" not in headline.value
    assert "0 requests running, 0 waiting" in headline.value


def test_a_notebook_gets_widget_picture_and_text_and_without_widgets_the_rest(courier, monkeypatch):
    view = watch(crowded(courier))
    data, metadata = view._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data and data["text/plain"] == repr(view)
    assert imread(io.BytesIO(data["image/png"])).shape[1] == metadata["image/png"]["width"] * 1.5
    assert "6 waiting" in metadata["image/png"]["alt"]
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    bare = watch(crowded(courier))
    assert set(bare._repr_mimebundle_()[0]) == {"image/png", "text/plain"}
    bare.run()
    assert not bare.engine.has_work


def test_in_a_notebook_the_loop_shows_the_view_first_and_leaves_its_end_there_even_if_it_is_left(courier, monkeypatch):
    shown = []

    class Handle:
        def update(self, view):
            shown.append(repr(view))

    def display(view, display_id):
        shown.append(view._repr_mimebundle_()[0]["text/plain"])
        return Handle()

    monkeypatch.setattr("kvlab.view.live._in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", display)
    view = watch(crowded(courier))
    for number, _ in enumerate(view):
        if number == 2:
            break
    assert len(shown) == 2 and "Step 0:" in shown[0] and "Step 3:" in shown[1]
    view.run()
    assert len(shown) == 2  # it is there already
    assert not InteractiveShell.initialized() and np.all(block_states(view.engine) == BLANK)
