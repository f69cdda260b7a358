"""The course: exercises that check themselves, hints, predictions, recall questions, and the learner's progress."""

from __future__ import annotations

from kvlab.course.assist import help_me, hint, solution
from kvlab.course.decorator import exercise
from kvlab.course.labs import close_lab, open_lab
from kvlab.course.overview import progress
from kvlab.course.predictions import predict, reveal
from kvlab.course.recalls import recall
from kvlab.course.speak import say_it

__all__ = ["close_lab", "exercise", "help_me", "hint", "open_lab", "predict", "progress", "recall", "reveal", "say_it",
           "solution"]
