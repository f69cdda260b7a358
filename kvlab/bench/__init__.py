"""How fast the kernels are on a GPU, beside a device copy and PyTorch. Importing it needs no torch.

What is measured: `cases`, of which `grid` chooses; `inputs` makes a case's tensors, and `systems` are what is timed.
How: `where` says why not here, `gpu` has the clock, `spread` times a call, `session` makes a whole run.
What stays: `record` is its form, with the facts of `machine`; `store` reads and writes it, `measured` are the runs that
ship; `table` prints one, beside its `targets` and the `law` of what is possible. `checkout` runs the CPU benchmarks.
"""

from __future__ import annotations

from .cases import Case
from .grid import decode_cases, few, prefill_cases, write_cases
from .law import LAW, MUST, Line
from .record import LeftOut, Measurement, Run
from .session import measure
from .spread import Spread
from .store import read, stored, write
from .where import why_not

__all__ = [
    "LAW",
    "MUST",
    "Case",
    "LeftOut",
    "Line",
    "Measurement",
    "Run",
    "Spread",
    "decode_cases",
    "few",
    "measure",
    "prefill_cases",
    "read",
    "stored",
    "why_not",
    "write",
    "write_cases",
]
