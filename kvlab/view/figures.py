"""Every chart of the labs. Each function returns a `Picture`: shown by a notebook with the same story in words."""

from __future__ import annotations

from kvlab.view.churn import arena_history
from kvlab.view.figures_blocks import block_size_curve, published_bars
from kvlab.view.figures_cost import batch_throughput
from kvlab.view.figures_gather import gathered_bytes
from kvlab.view.figures_lengths import answer_histogram, answer_histograms
from kvlab.view.figures_roofline import roofline
from kvlab.view.figures_simulated import simulated, simulated_over_time
from kvlab.view.figures_smaller import smaller_caches
from kvlab.view.figures_systems import systems_side_by_side
from kvlab.view.figures_timeline import timeline
from kvlab.view.figures_waste import arena_strip, waste_bars
from kvlab.view.figures_ways import served_ways

__all__ = [
    "answer_histogram",
    "answer_histograms",
    "arena_history",
    "arena_strip",
    "batch_throughput",
    "block_size_curve",
    "gathered_bytes",
    "published_bars",
    "roofline",
    "served_ways",
    "simulated",
    "simulated_over_time",
    "smaller_caches",
    "systems_side_by_side",
    "timeline",
    "waste_bars",
]
