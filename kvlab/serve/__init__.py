"""Serving a real model on paged memory.

The public names are loaded when they are first asked for, since they bring torch and transformers with them, which the
scheduler and the simulator do without.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "BeamSearch": "beam",
    "Engine": "engine",
    "compare_chats": "chats",
    "courier_chats": "chats",
    "measure_reload": "breakeven",
    "measured_break_even": "breakeven",
    "NeverFits": "admission",
    "GenerateCache": "hf_cache",
    "Generation": "request",
    "PagedModel": "hf",
    "Policies": "policies",
    "Quality": "quality",
    "Report": "report",
    "Samples": "parallel",
    "Sampling": "sampling",
    "Scheduler": "scheduler",
    "Stats": "metrics",
    "Setting": "quality",
    "SYSTEMS": "systems",
    "StepCost": "costmodel",
    "Stuck": "scheduler",
    "Unsupported": "hf_support",
    "admit": "scheduler_plain",
    "calibrate_on": "quality",
    "beyond_paging": "beyond",
    "choose_victim": "scheduler_plain",
    "compare_quality": "quality",
    "generate_on_ranks": "ranks_launch",
    "pick_next": "ordering",
    "sample_generators": "draws",
    "schedule_step": "scheduler_plain",
    "with_larger_keys": "quality",
    "side_by_side": "systems",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
