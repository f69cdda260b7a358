"""Lab 04: paged attention in PyTorch. Each exercise has its own file, with its bench and its mistakes beside."""

from __future__ import annotations

from kvlab.course.exercises.lab04_attention import PAGED_ATTENTION
from kvlab.course.exercises.lab04_blockwise import ATTEND_BLOCKWISE
from kvlab.course.exercises.lab04_gather import GATHER_KV
from kvlab.course.exercises.lab04_write import WRITE_KV

EXERCISES = [WRITE_KV, GATHER_KV, PAGED_ATTENTION, ATTEND_BLOCKWISE]
