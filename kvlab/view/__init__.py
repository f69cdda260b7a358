"""Pictures of KV memory: charts, block maps, explorers that answer to sliders. Each tells its story in words too.

- What all have in common: `kinds` of memory with colour, word and hatch; `style` of charts; `picture`, with its words.
- Charts: `figures` has every one by name, and `figures_*` a file for each subject.
- Block maps: `blockmap`, with the numbers of `digits`; `ownermap` shows whose each block is.
- Explorers: `explorer` is a picture that answers, `card` what stays of it on a page, `player` the buttons for events.
  What they show and the story they play: `arenas` and `churn`, `policies` and `settings`, `pools` and `poolreplay`,
  `shares` and `sharestory`, `prefixes` and `prefixstory`.
- An engine while it runs: `live`, with the blocks as `enginemap` sees them.
"""

from __future__ import annotations

from kvlab.view.arenas import arena_explorer
from kvlab.view.blockmap import block_map
from kvlab.view.explorer import Explorer
from kvlab.view.figures import (
    answer_histogram,
    answer_histograms,
    arena_history,
    arena_strip,
    batch_throughput,
    block_size_curve,
    gathered_bytes,
    published_bars,
    roofline,
    served_ways,
    simulated,
    simulated_over_time,
    smaller_caches,
    systems_side_by_side,
    timeline,
    waste_bars,
)
from kvlab.view.kinds import PALETTE
from kvlab.view.live import watch
from kvlab.view.picture import Picture
from kvlab.view.policies import policy_explorer
from kvlab.view.pools import pool_explorer
from kvlab.view.prefixes import prefix_explorer
from kvlab.view.shares import share_explorer

__all__ = [
    "PALETTE",
    "Explorer",
    "Picture",
    "answer_histogram",
    "answer_histograms",
    "arena_explorer",
    "arena_history",
    "arena_strip",
    "batch_throughput",
    "block_map",
    "block_size_curve",
    "gathered_bytes",
    "policy_explorer",
    "pool_explorer",
    "prefix_explorer",
    "published_bars",
    "roofline",
    "served_ways",
    "share_explorer",
    "simulated",
    "simulated_over_time",
    "smaller_caches",
    "systems_side_by_side",
    "timeline",
    "waste_bars",
    "watch",
]
