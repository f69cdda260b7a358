"""Every launch that `kvlab bench all` would make, recorded and not run: `python -m tests.bench.launches` counts them.

Run it in a process of its own: kernels imported for the interpreter cannot be recorded. Tensors lie on torch's
"meta" device, which has shapes and no contents; a launcher that refuses a case ends the process.
"""

from __future__ import annotations

import json

from tests.kernels import aot  # isort: skip  (first: it settles that kernels are not interpreted)

import torch
from torch import Tensor

from kvlab.bench.cases import Case
from kvlab.bench.grid import all_cases
from kvlab.bench.inputs import DTYPES, Inputs
from kvlab.bench.systems import kernel, kernel_contiguous

HOPPER = 90


class Shapes(Inputs):
    """The tensors of a case without their contents."""

    def __init__(self, case: Case) -> None:
        self.case, self.device = case, torch.device("meta")
        shape = (case.batch, case.context, case.kv_heads, case.head_dim)
        self.keys, self.values = self._numbers(*shape), self._numbers(*shape)
        self.query = self._numbers(case.tokens, case.heads, case.head_dim)
        self.tables = torch.empty((case.batch, case.blocks), dtype=torch.int32, device="meta")
        self.slots = torch.empty(case.tokens, dtype=torch.int64, device="meta")
        self.pools = self.empty_pools()

    def _numbers(self, *shape: int) -> Tensor:
        return torch.empty(shape, device="meta", dtype=DTYPES[self.case.source_dtype])


def count(case: Case) -> int:
    """How many launches a case makes, on pages and in one piece."""
    with aot.recording(HOPPER) as launches:
        for system in (kernel, kernel_contiguous) if case.kind != "write" else (kernel,):
            prepared = system(Shapes(case))
            if not isinstance(prepared, str):
                prepared.call()
    return len(launches)


if __name__ == "__main__":
    print(json.dumps({case.name: count(case) for case in all_cases()}))
