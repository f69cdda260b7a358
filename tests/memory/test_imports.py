"""What importing `kvlab.memory` brings along and costs, and that every public name is explained."""

from __future__ import annotations

import inspect
import subprocess
import sys
from time import perf_counter

import kvlab.memory as memory


def test_every_public_name_is_there_once_and_in_order_of_kind() -> None:
    assert len(set(memory.__all__)) == len(memory.__all__)
    for name in memory.__all__:
        assert hasattr(memory, name)
        assert not inspect.ismodule(getattr(memory, name)), f"{name} is a module that hides behind the name of a part"


def test_every_public_part_has_a_docstring() -> None:
    for name in memory.__all__:
        part = getattr(memory, name)
        if inspect.isclass(part) or inspect.isfunction(part):
            assert part.__doc__ and "\n" not in part.__doc__[:1], name
        if inspect.isclass(part):
            for method, value in vars(part).items():
                if not method.startswith("_") and inspect.isfunction(value) and not hasattr(part, "_is_protocol"):
                    assert value.__doc__, f"{name}.{method}"


def test_memory_works_without_the_heavy_frameworks() -> None:
    heavy = ("torch", "transformers", "triton", "matplotlib", "IPython", "hypothesis", "pandas")
    script = f"import sys, kvlab.memory as m; m.lesson_trace(); print([x for x in {heavy} if x in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_importing_costs_a_third_of_a_second_at_most() -> None:
    """The best of three: what others do on this machine meanwhile is not ours."""
    script = "from time import process_time as now; start = now(); import kvlab.memory; print(now() - start)"
    best = 9.0
    started = perf_counter()
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        best = min(best, float(run.stdout))
        if best < 0.3 or perf_counter() - started > 20:
            break
    assert best < 0.3
