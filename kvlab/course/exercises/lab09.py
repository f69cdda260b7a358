"""Lab 09: smaller caches. Each exercise has its own file, with its bench and its mistakes beside."""

from __future__ import annotations

from kvlab.course.exercises.lab09_attend import ATTEND_FP8
from kvlab.course.exercises.lab09_latents import PAGE_LATENTS
from kvlab.course.exercises.lab09_quantize import QUANTIZE_FP8
from kvlab.course.exercises.lab09_window import RELEASE_WINDOW

EXERCISES = [QUANTIZE_FP8, ATTEND_FP8, RELEASE_WINDOW, PAGE_LATENTS]
