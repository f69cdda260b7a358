"""Lab 10: other homes for blocks. Each exercise has its own file, with its model and its mistakes beside."""

from __future__ import annotations

from kvlab.course.exercises.lab10_break_even import BREAK_EVEN
from kvlab.course.exercises.lab10_heads import SHARD_HEADS
from kvlab.course.exercises.lab10_host import HOST_TIER
from kvlab.course.exercises.lab10_reload import RELOAD_SECONDS
from kvlab.course.exercises.lab10_virtual import VIRTUAL_CACHE

EXERCISES = [HOST_TIER, RELOAD_SECONDS, BREAK_EVEN, VIRTUAL_CACHE, SHARD_HEADS]
