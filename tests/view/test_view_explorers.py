"""What an explorer shows, alive and as a still."""

from __future__ import annotations

import sys
from time import perf_counter
from types import SimpleNamespace

import ipywidgets
import pytest
from view_gallery import EXPLORERS

from kvlab.errors import UsageError
from kvlab.memory import lesson_trace
from kvlab.view import PALETTE, arena_explorer, policy_explorer, pool_explorer


def parts(widget, kind):
    """All widgets of a kind inside a box, in order."""
    found = [widget] if isinstance(widget, kind) else []
    return found + [part for child in getattr(widget, "children", ()) for part in parts(child, kind)]


def shown(widget) -> str:
    return " ".join(part.value for part in parts(widget, ipywidgets.HTML))


@pytest.fixture(params=EXPLORERS)
def explorer(request):
    return EXPLORERS[request.param]()


def test_an_explorer_publishes_the_widget_a_picture_and_the_text(explorer):
    data, metadata = explorer._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/png", "text/plain"}
    assert data["text/plain"] == repr(explorer) == explorer.at().story
    assert data["image/png"].startswith(b"\x89PNG") and metadata["image/png"]["alt"] == explorer.title


@pytest.mark.parametrize("found", [None, SimpleNamespace(__version__="7.7.1")], ids=["none", "Colab's, which is old"])
def test_without_ipywidgets_the_picture_and_the_text_remain(explorer, monkeypatch, found):
    expected = explorer._repr_mimebundle_()[0]
    monkeypatch.setitem(sys.modules, "ipywidgets", found)
    data, _ = explorer._repr_mimebundle_()
    assert data == {key: expected[key] for key in ("image/png", "text/plain")}


def test_without_matplotlib_the_picture_is_the_bare_map(explorer, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert explorer._repr_mimebundle_()[0]["image/png"] == explorer.at().png


def test_every_colour_of_a_map_has_its_word_in_the_widget_and_in_the_text(explorer):
    frame = explorer.frame()
    html = shown(explorer.widget())
    for index, words in frame.legend:
        assert PALETTE[index] in html and words in html and words in frame.text


def test_the_picture_is_named_and_its_change_is_announced(explorer):
    widget = explorer.widget()
    (image,) = parts(widget, ipywidgets.Image)
    assert image.tooltip == explorer.frame().headline and image.tooltip in shown(widget)
    assert 'role="status"' in shown(widget) and 'aria-live="polite"' in shown(widget)


def test_a_widget_holds_core_widgets_only(explorer):
    modules = {part._model_module for part in parts(explorer.widget(), ipywidgets.DOMWidget)}
    assert modules == {"@jupyter-widgets/controls"}


def test_no_setting_but_the_explorers_own_is_taken(explorer):
    with pytest.raises(UsageError, match="no setting colour"):
        explorer.at(colour="red")


def test_a_still_at_other_settings_leaves_the_explorer_where_it_is():
    explorer = policy_explorer()
    assert explorer.at(policy="16-token blocks").values["fit"] == 411
    assert explorer.at().values["fit"] == 64


def test_each_slider_and_button_of_the_policy_explorer_changes_what_is_seen():
    widget = policy_explorer().start(policy="prompt+max").widget()
    (policy,), sliders = parts(widget, ipywidgets.ToggleButtons), parts(widget, ipywidgets.SelectionSlider)
    assert len(sliders) == 6
    for control in (*sliders, policy):
        before = shown(widget)
        control.value = control.options[0] if not isinstance(control.options[0], tuple) else control.options[0][1]
        assert shown(widget) != before, control.description


def test_the_policy_explorer_says_when_a_limit_cuts_answers_short():
    assert "answers hit a limit and are cut short" in policy_explorer().at(max_answer=256).text
    assert "cut short" not in policy_explorer().at().text


def test_a_slider_can_begin_at_a_value_of_ones_own():
    widget = policy_explorer().start(block_size=48).widget()
    assert 48 in [slider.value for slider in parts(widget, ipywidgets.SelectionSlider)]


def test_slider_step_buttons_and_jump_of_the_pool_explorer_move_to_the_event():
    explorer = pool_explorer()
    widget = explorer.widget()
    (slider,), (image,) = parts(widget, ipywidgets.IntSlider), parts(widget, ipywidgets.Image)
    back, forward, jump = (button for button in parts(widget, ipywidgets.Button))
    slider.value = 9
    assert image.value == explorer.at(event=9).png and "Event 9 of 40" in image.tooltip
    forward.click()
    assert slider.value == 10
    back.click(), back.click()
    assert slider.value == 8
    jump.click()
    assert explorer.at().values["event"].kind == "wait"
    slider.value = slider.max
    forward.click(), jump.click()
    assert slider.value == slider.max


def test_the_arena_explorer_jumps_to_a_request_that_waits_though_enough_is_free():
    explorer = arena_explorer(steps=300)
    widget = explorer.widget()
    parts(widget, ipywidgets.Button)[2].click()
    assert explorer.at().values["moment"].fragmented and "but not in one piece" in shown(widget)
    parts(widget, ipywidgets.Dropdown)[0].value = "best"
    assert explorer.settings["fit"] == "best"


@pytest.mark.parametrize(
    ("name", "make", "setting"),
    [
        ("a block pool", lambda: pool_explorer(lesson_trace(), 4096), "event"),
        ("the arena", lambda: arena_explorer(steps=200), "step"),
        ("the policies", policy_explorer, "written"),
    ],
)
def test_a_step_of_a_map_of_thousands_of_squares_is_quick(name, make, setting):
    explorer = make()
    widget = explorer.widget()
    start = perf_counter()
    for number in range(20):
        explorer.frame(**{setting: number})
    each = (perf_counter() - start) / 20
    print(f"{name}: {1000 * each:.1f} ms a step")
    assert each < 1, "a step should take below 0.1 s; ten times that is a fault, not a slow machine"
    assert widget is not None
