from __future__ import annotations

import io
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.image import imread
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from view_gallery import CHARTS, EXPLORERS

from kvlab.errors import UsageError
from kvlab.view import PALETTE, timeline
from kvlab.view.style import DOTS


@pytest.fixture(scope="module")
def charts():
    return {name: make() for name, make in CHARTS.items()}


@pytest.fixture(scope="module")
def images(charts):
    """Red, green and blue of each pixel, 0-255, by name."""
    return {name: np.rint(imread(io.BytesIO(chart.png))[:, :, :3] * 255).astype(int) for name, chart in charts.items()}


def words(figure) -> list[Text]:
    """Every text of a figure that is drawn; ticks beyond the ends of an axis are not."""
    figure.draw_without_rendering()
    beyond = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        beyond |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text() and text not in beyond]


def check_places(figure, others=()) -> None:
    """Every word lies inside the figure and on no other word, nor on `others`, named boxes."""
    page = figure.bbox
    boxes = [*others, *((text.get_text(), text.get_window_extent()) for text in words(figure))]
    for number, (text, box) in enumerate(boxes):
        assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1, text
        assert not [other for other, there in boxes[:number] if box.overlaps(there)], text


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_white_to_its_edges_and_the_size_it_says(name, charts, images):
    image = images[name]
    assert (image.shape[1], image.shape[0]) == tuple(round(side * DOTS / 100) for side in charts[name].size)
    assert (image[[0, -1]] == 255).all() and (image[:, [0, -1]] == 255).all()


@pytest.mark.parametrize("name", CHARTS)
def test_no_word_of_a_chart_is_smaller_than_ten_points(name, charts):
    assert min(text.get_fontsize() for text in words(charts[name].figure)) >= 10


@pytest.mark.parametrize("name", CHARTS)
def test_no_word_of_a_chart_is_cut_off_or_lies_on_another(name, charts):
    check_places(charts[name].figure)


@pytest.mark.parametrize("name", CHARTS)
def test_no_curve_runs_through_a_word(name, charts):
    figure = charts[name].figure
    boxes = [(text.get_text(), text.get_window_extent()) for text in words(figure)]
    curves = [line for line in figure.findobj(Line2D) if len(line.get_xdata()) > 2]
    for path in (curve.get_path().transformed(curve.get_transform()) for curve in curves):
        assert not [text for text, box in boxes if path.intersects_bbox(box, filled=False)]


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_uses_the_palette_white_and_greys_only(name, charts):
    figure = charts[name].figure
    used = [line.get_color() for line in figure.findobj(Line2D)]
    for patch in figure.findobj(Patch):
        used += [patch.get_facecolor(), patch.get_edgecolor()]
    hues = {to_hex(colour) for colour in map(to_rgba, used) if colour[3] and len(set(colour[:3])) > 1}
    assert hues <= {colour.lower() for colour in PALETTE[1:4]}


def test_the_same_chart_twice_is_the_same_to_the_byte(charts):
    name = "published"
    assert charts[name].png == charts[name].png == CHARTS[name]().png


def test_a_chart_looks_the_same_whatever_the_notebook_has_set(charts):
    with matplotlib.rc_context({"font.size": 30, "figure.facecolor": "black", "text.color": "white"}):
        assert CHARTS["answers"]().png == charts["answers"].png
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.parametrize("name", ["published", "answers"])
def test_a_picture_gives_a_screen_reader_and_nbval_its_story(name, charts):
    chart = charts[name]
    data, metadata = chart._repr_mimebundle_()
    assert data["text/plain"] == repr(chart) and data["image/png"] == chart.png
    assert chart.title in repr(chart) and chart.text in repr(chart)
    assert metadata["image/png"] == {"width": chart.size[0], "height": chart.size[1], "alt": chart.title}


def test_a_notebook_shows_a_picture_and_below_it_the_story_in_words(charts, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **options: shown.append(data))
    charts["blocks"]._ipython_display_()
    picture, story = shown
    assert "image/png" in picture and story["text/plain"] == story["text/markdown"] == charts["blocks"].text


def test_a_change_to_the_figure_is_seen_when_it_is_shown():
    picture = CHARTS["answers"]()
    before = picture.png
    picture.figure.axes[0].set_title("Mine")
    assert picture.png != before


def test_charts_leave_nothing_in_pyplot_and_explorers_do_not_need_matplotlib():
    code = (
        "import sys; from kvlab.view import pool_explorer, policy_explorer, block_map\n"
        "policy_explorer().at(policy='full').png, pool_explorer().at(event=3).png\n"
        "assert not {'matplotlib', 'torch', 'ipywidgets', 'IPython'} & set(sys.modules)\n"
        "from kvlab.view import answer_histogram; from kvlab.memory import lesson_trace\n"
        "answer_histogram(lesson_trace()).png\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("name", EXPLORERS)
def test_no_word_of_an_explorers_still_picture_is_cut_off_or_lies_on_another(name, monkeypatch):
    figures = []
    monkeypatch.setattr("kvlab.view.card.figure_png", lambda figure: figures.append(figure) or b"")
    EXPLORERS[name]()._repr_mimebundle_()
    check_places(figures[0], [("map", axes.get_window_extent()) for axes in figures[0].axes])


def test_a_timeline_tells_who_ran_and_refuses_to_draw_nothing(charts):
    story = charts["timeline"]
    running, swapped, mean = story.values["swapped to the host"]
    assert swapped > 0 and mean < running <= 60 and story.values["recomputed"][1] == 0
    assert f"at most {running} run and {swapped} are swapped out" in story.text
    with pytest.raises(UsageError, match="at least 1 simulation"):
        timeline({})
