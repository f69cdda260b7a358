"""Slides as one HTML file that needs no network: keys or a click turn them, and printing gives a page for each."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from kvlab.course.classroom.deck import Slide

_TEMPLATE = Path(__file__).with_name("page.html")
_LABELS = {"predict": "Write a number down first", "exercise": "Exercise", "question": "From memory"}


def page(title: str, slides: Sequence[Slide]) -> str:
    """The HTML document of a deck. Needs mistune, which JupyterLab brings (ModuleNotFoundError without it)."""
    render = _renderer()
    sections = "\n".join(_section(slide, number, len(slides), render) for number, slide in enumerate(slides, 1))
    template = _TEMPLATE.read_text(encoding="utf-8")
    return template.replace("{{title}}", html.escape(title)).replace("{{sections}}", sections)


def _renderer() -> Callable[[str], str]:
    """Markdown to HTML, with tables; raw HTML in it is shown as text."""
    import mistune

    return cast("Callable[[str], str]", mistune.create_markdown(escape=True, plugins=["table"]))


def _section(slide: Slide, number: int, total: int, render: Callable[[str], str]) -> str:
    tag = "h1" if slide.kind == "title" else "h2"
    label = f'<p class="label">{_LABELS[slide.kind]}</p>' if slide.kind in _LABELS else ""
    parts = [f'<section class="{slide.kind}" id="s{number}"><div class="body">', label]
    parts.append(f"<{tag}>{render(slide.title).removeprefix('<p>').strip().removesuffix('</p>')}</{tag}>")
    parts += [render(slide.text)] if slide.text else []
    parts += [f"<pre><code>{html.escape(slide.code)}</code></pre>"] if slide.code else []
    parts += [_image(slide)] if slide.image else []
    foot = f"<footer><span>{html.escape(slide.note)}</span><span>{number} / {total}</span></footer>"
    return "\n".join([*filter(None, parts), "</div>", foot, "</section>"])


def _image(slide: Slide) -> str:
    return f'<img src="data:image/png;base64,{slide.image}" alt="{html.escape(slide.alt, quote=True)}">'
