"""What it costs to have keys and values again: copied from the host or a tier, or computed, in seconds.

After Kwon et al. 2023 (arXiv 2309.06180), sections 4.5 and 7.3. Throughout, flops are operations a second, bandwidths
bytes a second; one that is not above 0, or a model or block of no size, is refused with `UsageError`.
"""

from __future__ import annotations

from bisect import bisect_left
from math import ceil, isclose

from kvlab.errors import UsageError


def swap_seconds(num_blocks: int, block_bytes: float, bandwidth: float, per_copy: float = 0.0) -> float:
    """Seconds to copy `num_blocks` blocks of `block_bytes` bytes to the host and back again later.

    bandwidth: of the link, bytes a second each way. per_copy: seconds that each copy takes whatever its size, which is
    what makes small blocks slow to swap.
    """
    _positive(bandwidth=bandwidth)
    return 2 * num_blocks * (block_bytes / bandwidth + per_copy)


def recompute_seconds(
    num_tokens: int, parameters: float, flops: float, weight_bytes: float = 0.0, bandwidth: float = 1.0
) -> float:
    """Seconds to run `num_tokens` tokens again, all in one step.

    Two operations for each of the model's `parameters` and each token, at `flops` operations a second; but at least one
    reading of the weights, `weight_bytes` at `bandwidth` bytes a second.
    """
    _positive(flops=flops, bandwidth=bandwidth)
    return max(2 * parameters * num_tokens / flops, weight_bytes / bandwidth) if num_tokens else 0.0


def reload_seconds(num_blocks: int, block_bytes: float, bandwidth: float, latency: float = 0.0) -> float:
    """Seconds to bring `num_blocks` blocks of `block_bytes` bytes back from a tier.

    bandwidth: of the way from there, bytes a second. latency: seconds before the first byte comes, once for all.
    No block: 0.
    """
    _positive(bandwidth=bandwidth)
    return latency + num_blocks * block_bytes / bandwidth if num_blocks else 0.0


def break_even_tokens(
    block_size: int,
    block_bytes: float,
    bandwidth: float,
    latency: float,
    parameters: float,
    flops: float,
    weight_bytes: float = 0.0,
    weight_bandwidth: float = 1.0,
) -> int | None:
    """The number of tokens, in whole blocks, from which on loading them from a tier is no slower than computing them.

    `reload_seconds` of a tier of that bandwidth and latency beside `recompute_seconds`. None if no length is long
    enough: then loading a block takes longer than computing it, or as long and there is a latency to make up. Two times
    that differ by rounding alone (1 part in 10^12) count as equal: no length could make up for anything with that.
    """
    _positive(bandwidth=bandwidth, flops=flops, weight_bandwidth=weight_bandwidth)
    _positive(block_size=block_size, parameters=parameters)
    load, compute = block_bytes / bandwidth, 2 * parameters * block_size / flops
    if isclose(load, compute, rel_tol=1e-12):
        return None if latency > 0 else block_size
    if load > compute:
        return None

    def pays(blocks: int) -> bool:
        again = recompute_seconds(blocks * block_size, parameters, flops, weight_bytes, weight_bandwidth)
        return reload_seconds(blocks, block_bytes, bandwidth, latency) <= again

    # up to here one reading of the weights takes longer than the tokens, so that more of them cost nothing to compute
    cheap = max(1, ceil(weight_bytes / weight_bandwidth * flops / (2 * parameters * block_size)))
    if pays(cheap):
        return block_size if cheap == 1 or pays(cheap - 1) else cheap * block_size
    enough = next((cheap << doubled for doubled in range(1, 60) if pays(cheap << doubled)), None)
    if enough is None:
        return None
    return bisect_left(range(enough), True, lo=cheap, key=pays) * block_size


def _positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise UsageError(f"{name} must be above 0, not {number}")
