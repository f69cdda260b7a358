"""The first and the last cell of a lab."""

from __future__ import annotations

import sys

from kvlab.course import lowering, registry, sandbox
from kvlab.course.interpreter.explain import OUT_OF_ORDER, compiled_without_gpu, explain_in_notebook
from kvlab.course.say import say
from kvlab.course.session import session
from kvlab.course.verdict import CHANGED, FAILED, PASSED
from kvlab.mode import mode

_WITHOUT_TORCH = "03"  # the last lab that needs nothing but Python


def open_lab(lab: str | int) -> None:
    """Prints what the lab is and how it runs on this machine, and binds every finished part of the lab's exercises in
    the namespace of the caller, so that a cell never fails because an exercise above it is missing. Where a package is
    missing that the lab needs, one sentence says how to install it."""
    number = registry.lab_number(lab)
    entries = registry.of_lab(number)
    if not entries:
        say(f"✗ There is no lab {lab}. The labs are {', '.join(registry.labs())}.")
        return
    session().lab = number
    try:
        parts = {entry.name: registry.part_of(entry) for entry in entries}
    except ModuleNotFoundError as missing:
        sentence = registry.lacking(number, missing)
        if not sentence:
            raise
        say(sentence)
        return
    sys._getframe(1).f_globals.update(parts)
    core = sum(entry.core for entry in entries)
    extra = f" and {len(entries) - core} extra" if core < len(entries) else ""
    say(f"{registry.titled(number)}: {core} exercise{'s' * (core != 1)}{extra}.")
    kernels = any(hasattr(part, "fn") for part in parts.values())
    say(_how_it_runs(number, kernels))
    if number > _WITHOUT_TORCH:
        explain_in_notebook()
    if kernels:
        helper = sandbox if mode().name == "gpu" else lowering
        helper.shared().start()  # it takes some seconds to get ready, and the first kernel is some minutes away


def _how_it_runs(number: str, kernels: bool) -> str:
    """The machine in a sentence or two; of Triton and its limits only in a lab in which kernels are written."""
    if number <= _WITHOUT_TORCH:
        return "Plain Python: it runs the same with and without a GPU."
    if compiled_without_gpu():
        return OUT_OF_ORDER
    how = mode()
    if not kernels and how.name == "interpreter":
        return "PyTorch on the CPU: this lab has no kernel to write, and needs no GPU."
    open_ = f" Not checked here: {'; '.join(how.cannot_check)}." if how.cannot_check else ""
    return how.sentence + open_


def close_lab(lab: str | int) -> None:
    """Prints one line per exercise of the lab: passed, wrong, not attempted, or not defined in this session."""
    entries = registry.of_lab(registry.lab_number(lab))
    if not entries:
        say(f"✗ There is no lab {lab}. The labs are {', '.join(registry.labs())}.")
        return
    verdicts, records = session().verdicts, session().progress.read()["exercises"]
    for entry in entries:
        found = verdicts.get(entry.name)
        mark = "✗" if found is None else found.text[0]
        status = "not defined: no cell has defined it under @exercise" if found is None else found.status
        if status == FAILED and "passed_at" in records.get(entry.name, {}):
            status = CHANGED
        say(f"{mark} {entry.name}: {status}{'' if entry.core else '  (extra)'}")
    done = sum(entry.name in verdicts and verdicts[entry.name].status == PASSED for entry in entries)
    say(f"{done} of {len(entries)} passed.")
