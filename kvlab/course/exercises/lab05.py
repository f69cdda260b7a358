"""Lab 05: paged attention in Triton. Each exercise has its own file, with its bench and its mistakes beside."""

from __future__ import annotations

from kvlab.course.exercises.lab05_decode import PAGED_DECODE
from kvlab.course.exercises.lab05_grouped import GROUPED_DECODE
from kvlab.course.exercises.lab05_merge import MERGE_PARTIALS
from kvlab.course.exercises.lab05_split import SPLIT_KV
from kvlab.course.exercises.lab05_write import COPY_BLOCKS, WRITE_KV

EXERCISES = [WRITE_KV, PAGED_DECODE, GROUPED_DECODE, SPLIT_KV, MERGE_PARTIALS, COPY_BLOCKS]
