"""The recipe: everything that decides the weights, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """One stage of the training. The next one starts from the weights that this one saved, with orders of its own."""

    steps: int
    seed: int
    batch_tokens: int
    muon_rate: float
    adam_rate: float
    decay: int  # the last steps, over which the rates fall linearly to zero
    early: int = 0  # the first steps, mostly notes and drills: to copy is learned first
    early_notes: float = 0.95
    early_drills: float = 0.04
    late_notes: float = 0.1
    late_drills: float = 0.3
    hard: int = 0  # 1: any name behind any label in notes, drills on what goes wrong; 2 to 4: also looser questions
    warmup: int = 60
    width: int = 128
    layers: int = 4
    mlp: int = 384
    compile: bool = True  # needs a C++ compiler; 1.6 times as fast, and rounds a little differently

    def rate(self, step: int) -> float:
        """The learning rate of a step as a share of the highest."""
        return min(1.0, (step + 1) / self.warmup, (self.steps - step) / self.decay)


STAGES = (
    Recipe(steps=6800, seed=7, batch_tokens=2048, muon_rate=0.02, adam_rate=0.005, decay=1200, early=800),
    Recipe(
        steps=2400, seed=8, batch_tokens=4096, muon_rate=0.02, adam_rate=0.005, decay=2400,
        hard=1, late_notes=0.45, late_drills=0.25,
    ),
    Recipe(
        steps=1800, seed=9, batch_tokens=4096, muon_rate=0.02, adam_rate=0.005, decay=1800,
        hard=2, late_notes=0.5, late_drills=0.25,
    ),
    Recipe(
        steps=3000, seed=10, batch_tokens=4096, muon_rate=0.02, adam_rate=0.005, decay=3000,
        hard=3, late_notes=0.3, late_drills=0.35,
    ),
    Recipe(
        steps=2400, seed=11, batch_tokens=4096, muon_rate=0.02, adam_rate=0.005, decay=2400,
        hard=4, late_notes=0.2, late_drills=0.4,
    ),
)
