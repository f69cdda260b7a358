"""A load that makes a small engine do all that it can: share, evict, preempt, swap, fork and copy; and solved parts."""

from __future__ import annotations

import functools
from typing import Any

from kvlab.cli import notebooks
from kvlab.serve import Engine, Sampling
from tests.conftest import ROOT
from tests.serve.models import prompt, tiny

BLOCKS, BLOCK_SIZE = 16, 4
MODEL = "llama"


@functools.cache
def solved() -> dict[str, str]:
    """Exercise -> its solved cell, from the solved labs."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "solutions").glob("0[3-8]_*.ipynb")):
        notebook = notebooks.read(path)
        cells = notebook["cells"]
        for name, index in notebooks.exercise_cells(notebook).items():
            found[name] = notebooks.without_markers(notebooks.source(cells[index]))
    return found


def prompts() -> list[list[int]]:
    """Prompts of which most begin alike; the last is the first again."""
    head = prompt(9)
    different = [head + prompt(count) for count in (5, 4, 7, 4, 3)]
    return [*different, different[0]]


def serve(make: Any = Engine, model: str = MODEL, **options: Any) -> tuple[list[list[int]], Any]:
    """The tokens of all answers, and the engine. Its pool is too small for all of them at once."""
    options.setdefault("fill", float("nan"))
    engine = make(tiny(model), BLOCKS, BLOCK_SIZE, token_budget=12, watermark=0.05, **options)
    texts = prompts()
    asked = [engine.submit(text, 8) for text in texts]
    samples = engine.sample(texts[1], 3, 6, Sampling(temperature=1.0, seed=3))
    asked += [engine.submit(texts[3][::-1], 3, tag=tag) for tag in (("a", None), ("a",), (None, "a"))]
    for _ in range(6):
        engine.step()
    asked += [engine.submit(text, 7) for text in (texts[2][:8], texts[0])]
    engine.run()
    return [one.tokens for one in [*asked, *samples.samples]], engine


@functools.cache
def expected(model: str = MODEL) -> list[list[int]]:
    """The same from the finished engine."""
    return serve(model=model)[0]


def mine(**parts: Any) -> dict[str, Any]:
    """Options for an engine of these parts alone, that prints nothing."""
    return {"mine": parts, "saved": False, "quiet": True}
