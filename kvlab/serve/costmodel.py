"""What a step costs: a roofline of bytes read and operations done, in whole picoseconds so that sums are exact.

A step reads the weights once and the keys and values of every context once, and multiplies meanwhile; whichever takes
longer is its time (Williams et al. 2009, "Roofline"). The presets are what makers specify: no step is faster, real ones
are slower by a share that differs from engine to engine, which `bandwidth_share`, `flops_share` and `overhead` are for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kvlab.errors import UsageError
from kvlab.memory import LLAMA_3_8B, WEIGHT_BYTES, KVShape, recompute_seconds, swap_seconds

PICOSECONDS = 10**12


@dataclass(frozen=True)
class Hardware:
    """An accelerator: bytes a second from its memory, bf16 operations a second without sparsity, its memory in bytes,
    and bytes a second each way to the host."""

    name: str
    bandwidth: float
    flops: float
    memory_bytes: float
    host_bandwidth: float


HARDWARE: dict[str, Hardware] = {
    hardware.name: hardware
    for hardware in (
        # NVIDIA A100 80GB SXM data sheet (2021): 2,039 GB/s, 312 TFLOPS, PCIe 4.0 x16.
        Hardware("A100-80", 2.039e12, 312e12, 80e9, 32e9),
        # NVIDIA H100 SXM data sheet (2023): 3.35 TB/s, 1,979 TFLOPS with sparsity, half without, PCIe 5.0 x16.
        Hardware("H100", 3.35e12, 989.5e12, 80e9, 64e9),
        # NVIDIA H200 SXM data sheet (2024): 4.8 TB/s, arithmetic as H100.
        Hardware("H200", 4.8e12, 989.5e12, 141e9, 64e9),
        # NVIDIA Ada architecture white paper (2022), RTX 4090: 1,008 GB/s, 165.2 TFLOPS bf16 with fp32 sums, PCIe 4.0.
        Hardware("RTX 4090", 1.008e12, 165.2e12, 24e9, 32e9),
    )
}


@dataclass(frozen=True)
class ModelSize:
    """What a model costs: parameters, bytes of weights, bytes of KV a token, operations for each query-key pair."""

    name: str
    parameters: float
    weight_bytes: float
    kv_bytes: float
    pair_flops: float

    @classmethod
    def of(cls, shape: KVShape, parameters: float, heads: int, bytes_per_number: int = 2) -> ModelSize:
        """The size of a model with this KV shape and `heads` query heads.

        A pair costs two products of `head_dim` numbers, with its key and with its value, in each head and layer.
        """
        pair = 2 * shape.layers * heads * (shape.head_dim + (shape.value_dim or shape.head_dim))
        return cls(shape.name, parameters, parameters * bytes_per_number, shape.bytes_per_token, pair)


LLAMA_8B = ModelSize.of(LLAMA_3_8B, WEIGHT_BYTES / 2, heads=32)
"""The course's running example."""


class StepCost(NamedTuple):
    """Picoseconds of a step, in whole numbers: a fixed part, and the longer of reading and multiplying.

    fixed: each step. weights: reading them. context: reading one token's keys and values. token: running one token's
    layers. pair: one query looking at one key. copy: one block to the host or from it, which nothing else overlaps.
    """

    fixed: int
    weights: int
    context: int
    token: int
    pair: int
    copy: int = 0

    def step(self, tokens: int, contexts: int, pairs: int, copied: int = 0) -> int:
        """Picoseconds of a step of so many tokens, whose contexts have so many tokens, with `copied` blocks swapped."""
        read = self.weights + self.context * contexts
        run = self.token * tokens + self.pair * pairs
        return self.fixed + (read if read > run else run) + self.copy * copied

    def until_bound_changes(self, tokens: int, contexts: int) -> int:
        """How many decode steps of `tokens` requests are bound by the same, if each adds `tokens` to `contexts`."""
        ahead = self.weights + self.context * contexts - self.token * tokens - self.pair * contexts
        gain = (self.context - self.pair) * tokens
        if ahead == 0 or ahead * gain >= 0:
            return 1 if ahead == 0 else 2**62
        return -(-abs(ahead) // abs(gain))


def begun_before(gap: int, first: int, slope: int, most: int) -> int:
    """How many of at most `most` steps begin before `gap` (> 0) is over, if they take `first`, `first + slope` ...

    gap, first, slope: in one unit of time, such as picoseconds; first and slope are at least 0.
    """
    if most * first + slope * most * (most - 1) // 2 <= gap:
        return most
    low, high = 1, min(most, -(-gap // max(first, 1)))  # the first has begun; each takes `first` at least
    while low < high:
        middle = (low + high + 1) // 2
        if (middle - 1) * first + slope * (middle - 1) * (middle - 2) // 2 < gap:
            low = middle
        else:
            high = middle - 1
    return low


def step_cost(
    model: ModelSize = LLAMA_8B,
    hardware: Hardware = HARDWARE["A100-80"],
    *,
    block_size: int = 16,
    bandwidth_share: float = 1.0,
    flops_share: float = 1.0,
    overhead: float = 0.0,
) -> StepCost:
    """The cost of a step of `model` on `hardware`, of which so much of the specification is reached.

    overhead: seconds that each step takes besides, for launching and planning. Shares outside (0, 1]: `UsageError`.
    """
    if not (0 < bandwidth_share <= 1 and 0 < flops_share <= 1 and overhead >= 0):
        raise UsageError(
            f"shares lie above 0 and up to 1, not {bandwidth_share} and {flops_share}; overhead is at least 0, "
            f"not {overhead}"
        )
    byte = PICOSECONDS / (hardware.bandwidth * bandwidth_share)
    flop = PICOSECONDS / (hardware.flops * flops_share)
    return StepCost(
        fixed=round(overhead * PICOSECONDS),
        weights=round(model.weight_bytes * byte),
        context=round(model.kv_bytes * byte),
        token=round(2 * model.parameters * flop),
        pair=round(model.pair_flops * flop),
        copy=round(model.kv_bytes * block_size / hardware.host_bandwidth * PICOSECONDS),
    )


def preemption_costs(model: ModelSize, hardware: Hardware, block_size: int = 16, per_copy: float = 0.0):
    """`(recompute, swap)` for `kvlab.serve.policies.Cheaper`: seconds for so many tokens, and for so many blocks.

    per_copy: seconds that each block's copy takes besides its bytes.
    """

    def recompute(num_tokens: int) -> float:
        return recompute_seconds(num_tokens, model.parameters, hardware.flops, model.weight_bytes, hardware.bandwidth)

    def swap(num_blocks: int) -> float:
        return swap_seconds(num_blocks, model.kv_bytes * block_size, hardware.host_bandwidth, per_copy)

    return recompute, swap
