"""The bounds guard: a Triton kernel runs in the interpreter, and what would go wrong on a GPU becomes a sentence.

Triton's interpreter reads and writes real memory at whatever address a kernel computes: an unmasked load takes the
neighbour's numbers, and a wild block id ends Python. Under guard neither happens.

    from kvlab.course.interpreter import guarded

    guarded(copy_kernel, (2,), source, target, 100, TILE=64)

    KernelFault: reads source past its end: element 100, and it has 100 elements. Program 1, line 3: x = tl.load(...).
"""

from __future__ import annotations

from kvlab.course.interpreter.arguments import POISON, Window
from kvlab.course.interpreter.faults import KernelFault, Line
from kvlab.course.interpreter.hooks import unavailable
from kvlab.course.interpreter.launch import Work, guarded

__all__ = ["POISON", "KernelFault", "Line", "Window", "Work", "guarded", "unavailable"]
