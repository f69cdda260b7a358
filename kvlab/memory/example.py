"""The running example in one place, for prose, labs and tests: a food-delivery assistant on an 80 GB GPU."""

from __future__ import annotations

from .presets import PRESETS

LLAMA_3_8B = PRESETS["Llama-3-8B"]
KV_BYTES = 64 * 2**30
"""GPU memory left for keys and values once the weights and the working space are in place."""
KV_TOKENS = KV_BYTES // LLAMA_3_8B.bytes_per_token
"""524,288 tokens at 128 KiB each."""
CONTEXT = 8192
MAX_ANSWER = 2048
BLOCK_SIZE = 16
WEIGHT_BYTES = 8_030_261_248 * 2
"""Llama 3 8B has 8,030,261,248 parameters, two bytes each in bf16."""
BANDWIDTH = 2.0e12
"""Bytes a second that an A100 80 GB reads from its memory (2,039 GB/s by specification, rounded)."""
