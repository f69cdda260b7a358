"""Who owns which bytes: the memory side of a KV cache, in pure Python and numpy. Never imports torch.

In the order in which to read it:

- What a token costs: `shapes`, read from a model by `configs`, with `presets` and the course's `example`; less of it in
  `quantized`, its share on each of several GPUs in `heads`. What is asked of a server: `workload`, `lengths`, `mixes`.
- Before paging: `policies` say what is reserved, in the arenas of `contiguous` and `buddy`; `waste` accounts for it,
  `published` is the lesson's table.
- Blocks: `pool`, over `reference_counts` and `lru`; `table` finds slots; `tables` and `growth` are those of many
  sequences, `manager` changes them, `audit` checks them. `protocols` says what may stand in for a part.
- One block, many owners: `sharing` has forks and copy-on-write.
- Prefixes: `history` makes keys; `prefix` finds them by a hash, `radix` in a tree of `radix_node`; `prefix_plain` and
  `radix_plain` are lab 07's functions. As other systems do: `partial` hits, `retention` by priority, host `chunks`.
- Windows: `window`, `ring`, `window_prefix`; layers of several kinds in one pool: `layer_groups`, then `hybrid`.
- Other homes: `swap` to the host, at `swap_costs`; `tiers`, in `tier_host` or in `tier_disk` with its `block_file`;
  `tier_policy` says who leaves, `tier_stack` sets them one behind the other, each a `tier_level` with its thread.
- Addresses, and no tables: `addresses`, `reservation`, `page_accounts`, `virtual`; real ones: `spaces`, `linux_space`.
- Traces without a model: `replays`, `virtual_replay` by `ondemand`; `fork_replay`, `prefix_replay`, `tier_replay`.
"""

from __future__ import annotations

from .addresses import address_ranges, pages_needed, virtual_waste
from .buddy import BuddyArena
from .contiguous import Arena, FirstFitArena, compact, external_fragmentation
from .example import BANDWIDTH, BLOCK_SIZE, CONTEXT, KV_BYTES, KV_TOKENS, LLAMA_3_8B, MAX_ANSWER, WEIGHT_BYTES
from .fork_replay import Saving, drawn_parents, replay_beams, replay_parents, replay_samples
from .heads import HeadShard, kv_heads_per_rank, rank_shape, shard_heads
from .history import History, chain_sha256, token_bytes
from .hybrid import HybridManager
from .layer_groups import LayerGroup, LayerGroups, group_layers
from .lengths import LESSON_SEED, alpaca_like, lesson_trace, sharegpt_like
from .lru import LRUList
from .manager import BlockManager
from .mixes import bursty_arrivals, few_shot, multi_turn, no_sharing, poisson_arrivals, shared_prefix, tree_of_thoughts
from .policies import POLICIES, next_power_of_two, reserve
from .pool import BlockPool
from .prefix import PrefixCache, block_hashes
from .prefix_plain import CachedBlock, evict, longest_hit
from .prefix_replay import INDEXES, HitRate, PrefixReplay, make_index, replay_prefixes
from .presets import PRESETS
from .protocols import Allocator, BlockLayout, Match, Pool, PrefixIndex, Tier
from .published import SETTINGS, Band, PublishedRow, allocated_slots, published_bands, published_table
from .quantized import fixed_scale_bytes, quantized
from .radix import RadixCache
from .radix_plain import RadixNode, radix_insert, radix_match
from .replays import Replay, replay
from .ring import RingTable
from .shapes import (
    KVShape,
    bytes_per_token,
    decode_step_seconds,
    latent_bytes_per_token,
    tokens_that_fit,
    window_tokens,
)
from .sharing import Write, append_with_cow, beam_step, block_counts, fork, saved_blocks
from .swap import Swapper, SwapPlan, swap_plan
from .swap_costs import break_even_tokens, recompute_seconds, reload_seconds, swap_seconds
from .table import append_tokens, block_size_sweep, blocks_needed, paged_waste, round_up_to_block, slot_mapping
from .tier_disk import DiskTier
from .tier_host import HostTier
from .tier_policy import EVICTIONS
from .tier_replay import replay_tier
from .tier_stack import TierStack
from .virtual import VirtualCache
from .virtual_replay import PAGES, Moment, Pages, replay_virtual, virtual_table, watch
from .waste import Waste, arena_waste, request_waste, waste_kinds
from .window import WindowManager, gone_blocks, release_window, window_blocks
from .window_prefix import WindowPrefixCache, longest_window_hit
from .workload import Request, Trace, answer_tokens, make_trace, prompt_tokens

__all__ = [
    "Allocator", "Arena", "BANDWIDTH", "BLOCK_SIZE", "Band", "BlockLayout", "BlockManager", "BlockPool", "BuddyArena",
    "CONTEXT", "CachedBlock", "DiskTier", "EVICTIONS", "FirstFitArena", "HeadShard", "History", "HitRate", "HostTier",
    "HybridManager", "INDEXES", "KVShape", "KV_BYTES", "KV_TOKENS", "LESSON_SEED", "LLAMA_3_8B", "LRUList",
    "LayerGroup", "LayerGroups", "MAX_ANSWER", "Match", "Moment", "PAGES", "POLICIES", "PRESETS", "Pages", "Pool",
    "PrefixCache", "PrefixIndex", "PrefixReplay", "PublishedRow", "RadixCache", "RadixNode", "Replay", "Request",
    "RingTable", "SETTINGS", "Saving", "SwapPlan", "Swapper", "Tier", "TierStack", "Trace", "VirtualCache",
    "WEIGHT_BYTES", "Waste", "WindowManager", "WindowPrefixCache", "Write", "address_ranges", "allocated_slots",
    "alpaca_like", "answer_tokens", "append_tokens", "append_with_cow", "arena_waste", "beam_step", "block_counts",
    "block_hashes", "block_size_sweep", "blocks_needed", "break_even_tokens", "bursty_arrivals", "bytes_per_token",
    "chain_sha256", "compact", "decode_step_seconds", "drawn_parents", "evict", "external_fragmentation", "few_shot",
    "fixed_scale_bytes", "fork", "gone_blocks", "group_layers", "kv_heads_per_rank", "latent_bytes_per_token",
    "lesson_trace", "longest_hit", "longest_window_hit", "make_index", "make_trace", "multi_turn", "next_power_of_two",
    "no_sharing", "paged_waste", "pages_needed", "poisson_arrivals", "prompt_tokens", "published_bands",
    "published_table", "quantized", "radix_insert", "radix_match", "rank_shape", "recompute_seconds", "release_window",
    "reload_seconds", "replay", "replay_beams", "replay_parents", "replay_prefixes", "replay_samples", "replay_tier",
    "replay_virtual", "request_waste", "reserve", "round_up_to_block", "saved_blocks", "shard_heads", "shared_prefix",
    "sharegpt_like", "slot_mapping", "swap_plan", "swap_seconds", "token_bytes", "tokens_that_fit", "tree_of_thoughts",
    "virtual_table", "virtual_waste", "waste_kinds", "watch", "window_blocks", "window_tokens",
]  # fmt: skip
