"""Kernels run compiled where there is a GPU, and in Triton's interpreter elsewhere: each has its own tests."""

from __future__ import annotations

import kvlab
from kvlab.mode import installed

collect_ignore = [] if kvlab.has_gpu() else ["test_bench_gpu.py"]
if kvlab.has_gpu() or not installed("triton"):
    collect_ignore.append("test_bench_kernels.py")
