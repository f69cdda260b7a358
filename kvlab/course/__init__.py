"""The course: exercises that check themselves, hints, predictions, recall questions, and the learner's progress."""

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
