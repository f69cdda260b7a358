"""The recall questions and the "say it" prompts, one module per lab: `labNN.RECALL` and `labNN.SAY_IT`.

A module `labNN.py` in this folder is found by its name. Add a `Recall` to its `RECALL` for each question; the key is
the lab that *asks* it and a word, and that lab's notebook calls `recall("02-holes", ...)`, later
`recall("02-holes", "b")`:

    Recall("02-holes", "An arena has 40 free slots and refuses a request for 30. How can that be?",
           choices={"a": "It keeps a reserve.", "b": "No single hole has 30 slots.", "c": "The request is too long."},
           answer="b", why="Free slots add up over holes; a request needs one hole. That is external fragmentation.",
           reasons={"c": "It is shorter than what is free."}),
    Recall("01-kib", "How many KiB does a token cost in Llama-3-8B?", answer=128, unit="KiB",
           why="2 (K and V) x 32 layers x 8 KV heads x 128 numbers x 2 bytes."),

and one `SayIt` to its `SAY_IT`; the notebook calls `say_it("03", ...)`. A point of the rubric is ticked by itself if
one of its `words` (lower case, parts of words do) is in the learner's text, and the learner can correct the tick:

    SayIt("03", "Explain to a colleague, in 30 seconds, why blocks waste less than reservations.",
          rubric=(Point("names the waste of reserving: internal and external", ("intern", "extern", "reserv")),
                  Point("says at most one block per sequence is partly empty", ("last block", "one block", "partly"))),
          model="Reserving holds room for tokens that may never come ...", seconds=30),
"""

from __future__ import annotations

import importlib
import pkgutil

from kvlab.course.questions.form import Point, Recall, SayIt

__all__ = ["RECALL", "SAY_IT", "Point", "Recall", "SayIt"]

RECALL: list[Recall] = []
SAY_IT: list[SayIt] = []

for _name in sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("lab")):
    _lab = importlib.import_module(f"{__name__}.{_name}")
    RECALL += _lab.RECALL
    SAY_IT += _lab.SAY_IT
