"""Lab 04's figure: what a decode step reads, against the length of the conversations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kvlab.view.kinds import HELD, LATER, PALETTE, UNUSED
from kvlab.view.picture import Picture, chart
from kvlab.view.style import INK, PLAIN, figure, style, thousands

GIB = 2**30
LINES = ((HELD, "-"), (UNUSED, "--"), (LATER, "-."), (4, ":"))  # palette index and dashes: never colour alone


def gathered_bytes(
    bytes_per_token: float, weight_bytes: float, batches: Iterable[int] = (1, 16, 64), longest: int = 8192
) -> Picture:
    """GiB of keys and values that one decode step gathers, against the context, beside the weights it reads.

    bytes_per_token: of KV, all layers. batches: requests that decode together, at most four curves; all of a batch have
    the same context, up to `longest` tokens. values: crossings (batch -> tokens of context from which a step reads more
    cache than weights).
    """
    batches = list(batches)[: len(LINES)]
    crossings = {batch: weight_bytes / (batch * bytes_per_token) for batch in batches}
    at_end = {batch: batch * bytes_per_token * longest / GIB for batch in batches}
    title = "Each token more is read again in every step that follows"
    lines = [
        f"- {batch:,} together: {at_end[batch]:,.0f} GiB a step at {longest:,} tokens each; "
        f"as much as the weights from {crossings[batch]:,.0f} tokens"
        for batch in batches
    ]
    with style():
        made, axes = figure(4.2)
        context = np.arange(0, longest + 1, 64)
        for (colour, dashes), batch in zip(LINES, batches, strict=False):
            axes.plot(context, batch * bytes_per_token * context / GIB, dashes, color=PALETTE[colour], linewidth=2.5)
            end = (longest, at_end[batch])
            axes.annotate(f"{batch:,} together", end, (8, 0), textcoords="offset points", va="bottom")
        axes.plot([0, longest], [weight_bytes / GIB] * 2, color=INK, linewidth=1.5)
        words = f"the weights: {weight_bytes / GIB:.0f} GiB, read once a step"
        axes.annotate(words, (0.38 * longest, weight_bytes / GIB), (0, 6), textcoords="offset points", bbox=PLAIN)
        axes.set(title=title, xlabel="tokens of context, each conversation", ylabel="GiB gathered in one step")
        axes.set(xlim=(0, longest * 1.16), ylim=0)
        thousands(axes.xaxis)
    return chart(title, "\n".join(lines), made, crossings=crossings)
