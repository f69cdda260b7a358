"""A deck in a real browser: every slide fits, keys turn it, no network is asked, and each slide prints as a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is a development dependency: pip install -e '.[dev]'")

from kvlab.course import registry
from kvlab.course.classroom.deck import slides
from kvlab.course.classroom.page import page as html_of
from tests.browser.jupyter import chromium
from tests.browser.page import browser_page
from tests.labs.notebooks import names

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not chromium(), reason="no chromium: install the distribution's, or name one in CHROMIUM"),
]

OVERFLOWING = """() => slides.filter(slide => {
    slide.classList.add("now");
    const body = slide.querySelector(".body").getBoundingClientRect(), foot = slide.querySelector("footer");
    const over = body.bottom > foot.getBoundingClientRect().top || slide.scrollWidth > slide.clientWidth;
    slide.classList.toggle("now", slides[place] === slide);
    return over;
}).map(slide => slide.id)"""


def test_every_deck_fits_turns_and_prints_without_a_network(tmp_path: Path) -> None:
    with browser_page(width=1280, height=720) as page:
        asked, errors = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for name in names():
            deck = slides(name[:2])
            file = tmp_path / f"{name}.html"
            file.write_text(html_of(registry.titled(name[:2]), deck), encoding="utf-8")
            page.goto(file.as_uri())
            assert page.evaluate(OVERFLOWING) == [], name
            page.keyboard.press("End")
            assert page.evaluate("place") == len(deck) - 1
            page.keyboard.press("ArrowLeft")
            assert page.locator("section.now").get_attribute("id") == f"s{len(deck) - 1}"
        assert errors == [] and all(url.startswith(("file:", "data:")) for url in asked)
        printed = page.pdf(prefer_css_page_size=True, print_background=True)
        assert len(re.findall(rb"/Type /Page\b", printed)) == len(deck)
