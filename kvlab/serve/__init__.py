"""Serving a real model on paged memory. CONTRIBUTING.md draws one step of the engine; here is what lies where.

- A request: `request`, with `sampling` and `draws`; many of one prompt are a `group`: `parallel` samples or a `beam`
  search. `submission` takes them at the `desk`, which refuses by `admission` and `limits`; then they stand in `line`.
- Decided with integers: `scheduler`, over `preemption` and `roster`, by `policies` and `ordering`, hands out a `plan`.
  `scheduler_plain` has its decisions as lab 08's functions.
- Memory: `memories` puts together `stores` of blocks and `reuse` of prefixes, `windows` for sliding windows;
  `tiering` goes on beyond the pool.
- Done with tensors: `placement` makes rows of a plan, `batch` flattens them, `hf` runs the model on them (`hf_flat` is
  its cache, `hf_support` and `hf_float8` refuse), `outcome` samples. `engine` is the loop; `counters`, `metrics` count.
- Engines otherwise: `assembling` and `supervised` for a learner's parts; `ranks` on several GPUs, with `ranks_launch`,
  `ranks_job`, `link`, `lockstep`, `hf_shards`. Beneath `model.generate` without an engine: `hf_cache`, `hf_virtual`.
- To the outside: `http` is the server, `events` its client's side, `generate` the command, `detokenize` the text.
- Simulated: `simulate` starts a `simulation` of `served` requests, at a `costmodel` (`calibrate` fits it), on real
  stores, `counted` or `reserved` ones; `observe` and `durations` make the `report`, `sweep` many.
- Other systems: `systems` is the table, from `system_facts` and `system_runs` on a `system_machine`, with memories of
  `system_stores` and `system_reserving` and prompts of `system_texts`; transformers' own batching is `hf_batching`
  (`hf_batching_cache`, `hf_batching_requests`), run by `hf_run`.
- Measured: `quality` of 8 bits, `breakeven` of tiers, `chats` and `ways` of serving a load, `beyond` basic paging.

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
