"""What reads and writes the bytes of the KV cache, in PyTorch."""

from __future__ import annotations

from .attention import paged_attention
from .backend import Backend, PagedAttention, choose_backend, register_backend
from .blockwise import attend_blockwise
from .cache import LayerShape, PagedCache, copy_blocks, gather_kv, write_kv
from .lab_kernels import Kernels
from .latents import attend_absorbed, attend_latents, page_latents, write_latents
from .merge import merge_partials
from .plan import AttentionPlan
from .swap import HostCache

__all__ = [
    "AttentionPlan",
    "Backend",
    "HostCache",
    "Kernels",
    "LayerShape",
    "PagedAttention",
    "PagedCache",
    "attend_absorbed",
    "attend_blockwise",
    "attend_latents",
    "choose_backend",
    "copy_blocks",
    "gather_kv",
    "merge_partials",
    "page_latents",
    "paged_attention",
    "register_backend",
    "write_kv",
    "write_latents",
]
