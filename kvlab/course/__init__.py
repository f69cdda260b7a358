"""The course: exercises that check themselves, hints, predictions, recall questions, and the learner's progress.

- Declared: `declare` is the form of an exercise, `exercises` has them, `registry` finds them; `questions`, and `terms`
  of the glossary. `notebooks` reads the solved cells and those that are handed out.
- From a cell to a verdict: `decorator` is `@exercise`; `source` and `borrowed` tell whose code it is; `judge` asks
  `checker`, which runs the probes of `calls`, `traces` and `launches`; `stubs` are still empty, `tape` keeps prints;
  `observe` and `compare` say what was seen, `matching` which known mistake it is.
- What is said: `verdict`, its next step in `advice` and `kernel_hunches`, more in `details` and `assist`; `say` prints,
  `shorten` and `numbers` put values into words.
- Kept from harm: `guard` runs a check `forked` or `threaded`, under `memlimit`. Kernels run in the `interpreter`;
  what is right there goes to the compiler (`lowering`, `lowered`) or the GPU (`ondevice`) in the helper process of
  `sandbox` and `sandboxed`, as text of `portable` with arguments of `parcels`.
- Around the exercises: `labs` opens and closes a lab; `predictions`, `recalls`, `speak` with its `speakbox`, `hunts`.
- Remembered: `session` in this kernel, `state` in the file; `overview` and `take_home` show it.
- The learner's parts in the real engine: `myparts`. For instructors: `classroom`, `room`, `grade`.
"""

from __future__ import annotations

from typing import Any

from kvlab.course.assist import help_me, hint, solution
from kvlab.course.decorator import exercise
from kvlab.course.labs import close_lab, open_lab
from kvlab.course.overview import progress
from kvlab.course.predictions import predict, reveal
from kvlab.course.recalls import recall
from kvlab.course.speak import say_it
from kvlab.course.take_home import take_home
from kvlab.course.terms import glossary
from kvlab.serve.assembling import register_assembler


def _engine(*arguments: Any, **options: Any) -> Any:
    """`Engine.from_my_parts`: what it needs is loaded when it is first asked for."""
    from kvlab.course.myparts import engine_from_my_parts

    return engine_from_my_parts(*arguments, **options)


register_assembler(_engine)

__all__ = ["close_lab", "exercise", "glossary", "help_me", "hint", "open_lab", "predict", "progress", "recall",
           "reveal", "say_it", "solution", "take_home"]
