"""What reads and writes the bytes of the KV cache, in PyTorch.

In the order in which to read it:

- The pools: `cache` keeps them for each layer; `pools` writes rows by slot, reads through tables, copies whole blocks.
- Attention: `plan` cuts a batch into padded groups with integers, once a step; `attention` attends them, each by
  `group_attention`. `blockwise` is the online softmax, `merge` joins what was attended apart, `latents` is MLA.
- Which of them runs: `backend` chooses between `attention` and the kernels of `triton_attention`; `lab_kernels` puts a
  learner's kernels there.
- 8 bits: `float8` is what torch can do with them, `fp8` the numbers, `scales` what they are divided by, and `folding`
  the scales moved out of the sums.
- Other homes: `swap` holds blocks on the host, `tier_store` makes them pieces of bytes for tiers, both by `streams`.
- Contiguous keys on virtual memory: `virtual`; on a GPU `virtual_cuda`, with the driver called in `cuda_pages`.
- Several GPUs: `shards` cuts weights and sums over ranks.
"""

from __future__ import annotations

from .attention import paged_attention
from .backend import Backend, PagedAttention, choose_backend, register_backend
from .blockwise import attend_blockwise
from .cache import LayerShape, PagedCache
from .fp8 import FP8_MAX, attend_fp8, dequantize_fp8, quantize_fp8
from .lab_kernels import Kernels
from .latents import attend_absorbed, attend_latents, page_latents, write_latents
from .merge import merge_partials
from .plan import AttentionPlan
from .pools import copy_blocks, gather_kv, write_kv
from .scales import LayerScales, Scales, calibrate
from .shards import merge_heads
from .swap import HostCache
from .virtual import VirtualKV, contiguous_attention

__all__ = [
    "AttentionPlan",
    "Backend",
    "FP8_MAX",
    "HostCache",
    "Kernels",
    "LayerScales",
    "LayerShape",
    "PagedAttention",
    "PagedCache",
    "Scales",
    "VirtualKV",
    "attend_absorbed",
    "attend_blockwise",
    "attend_fp8",
    "attend_latents",
    "calibrate",
    "choose_backend",
    "contiguous_attention",
    "copy_blocks",
    "dequantize_fp8",
    "gather_kv",
    "merge_heads",
    "merge_partials",
    "page_latents",
    "paged_attention",
    "quantize_fp8",
    "register_backend",
    "write_kv",
    "write_latents",
]
