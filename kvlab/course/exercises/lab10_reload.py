"""Lab 10: what it takes to bring blocks back from a tier, and from which length on that beats computing them."""

from __future__ import annotations

from math import ceil

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.memory import reload_seconds as right_reload


def both_ways(num_blocks, block_bytes, bandwidth, latency=0.0):
    return latency + 2 * num_blocks * block_bytes / bandwidth if num_blocks else 0.0


def both_ways_latency(num_blocks, block_bytes, bandwidth, latency=0.0):
    return 2 * right_reload(num_blocks, block_bytes, bandwidth, latency)


def latency_for_each(num_blocks, block_bytes, bandwidth, latency=0.0):
    return num_blocks * (latency + block_bytes / bandwidth)


def no_latency(num_blocks, block_bytes, bandwidth, latency=0.0):
    return num_blocks * block_bytes / bandwidth


def nothing_costs_latency(num_blocks, block_bytes, bandwidth, latency=0.0):
    return latency + num_blocks * block_bytes / bandwidth


def one_block(num_blocks, block_bytes, bandwidth, latency=0.0):
    return latency + block_bytes / bandwidth if num_blocks else 0.0


def bits(num_blocks, block_bytes, bandwidth, latency=0.0):
    return latency + 8 * num_blocks * block_bytes / bandwidth if num_blocks else 0.0


def at_the_same_time(num_blocks, block_bytes, bandwidth, latency=0.0):
    return max(latency, num_blocks * block_bytes / bandwidth) if num_blocks else 0.0


def in_milliseconds(num_blocks, block_bytes, bandwidth, latency=0.0):
    return 1000 * right_reload(num_blocks, block_bytes, bandwidth, latency)


RELOAD_SECONDS = Exercise(
    name="reload_seconds", lab="10", part="kvlab.memory.reload_seconds", stars=1, core=True, minutes=4,
    checks=(
        Cases("bytes alone", (63, 2097152, 32e9), (10, 2097152, 5e9), next="the bytes of all blocks over bandwidth"),
        Cases("latency", (63, 2097152, 5e9, 0.01), (5, 131072, 7e9, 1e-4), (1, 1e6, 1e9, 0.5),
              next="latency once, and then the bytes"),
        Cases("no blocks", (0, 2097152, 5e9, 0.01), (0, 2097152, 5e9), next="nothing to load takes 0.0"),
    ),
    mistakes=(
        Mistake(both_ways, "Counts both ways. The store was made long ago, while nobody waited for it.",
                next="one way: back"),
        Mistake(both_ways_latency, "Counts everything twice. Only the way back is waited for.", next="one way: back"),
        Mistake(latency_for_each, "Pays the latency for each block. All are asked for at once.",
                next="latency once, and then the bytes"),
        Mistake(no_latency, "Leaves out the latency. Somebody waits until the first byte comes.",
                next="add latency once"),
        Mistake(nothing_costs_latency, "Waits for a first byte though there is none to load.",
                next="0.0 for no blocks"),
        Mistake(one_block, "Loads one block, whatever their number.", next="multiply by num_blocks"),
        Mistake(bits, "Turns bytes into bits. The bandwidth is in bytes a second already.", next="leave out the 8"),
        Mistake(at_the_same_time, "Takes the longer of the two. The bytes come after the wait, not during it.",
                next="+ in place of max"),
        Mistake(in_milliseconds, "The value is in milliseconds. The question is for seconds.", next="leave out 1000"),
    ),
    hints=(
        "What happens once, however many blocks are loaded, and what for each of them?",
        "First the latency, then all bytes at the bandwidth. Nothing to load takes no time.",
        "latency + num_blocks * ... / bandwidth if num_blocks else 0.0",
    ),
)


def _length(block_size, block_bytes, bandwidth, latency, parameters, flops, factor=2):
    gain = factor * parameters * block_size / flops - block_bytes / bandwidth
    return None if gain <= 0 else max(1, ceil(latency / gain))


def in_blocks(block_size, block_bytes, bandwidth, latency, parameters, flops):
    return _length(block_size, block_bytes, bandwidth, latency, parameters, flops)


def part_of_a_block(block_size, block_bytes, bandwidth, latency, parameters, flops):
    gain = 2 * parameters * block_size / flops - block_bytes / bandwidth
    return None if gain <= 0 else max(1, ceil(block_size * latency / gain))


def down(block_size, block_bytes, bandwidth, latency, parameters, flops):
    gain = 2 * parameters * block_size / flops - block_bytes / bandwidth
    return None if gain <= 0 else max(1, int(latency / gain)) * block_size


def none_at_all(block_size, block_bytes, bandwidth, latency, parameters, flops):
    blocks = _length(block_size, block_bytes, bandwidth, latency, parameters, flops)
    return None if blocks is None else blocks * block_size * (latency > 0)


def never_none(block_size, block_bytes, bandwidth, latency, parameters, flops):
    gain = 2 * parameters * block_size / flops - block_bytes / bandwidth
    return max(1, ceil(latency / gain)) * block_size


def negative(block_size, block_bytes, bandwidth, latency, parameters, flops):
    gain = 2 * parameters * block_size / flops - block_bytes / bandwidth
    return ceil(latency / gain) * block_size


def zero_for_never(block_size, block_bytes, bandwidth, latency, parameters, flops):
    blocks = _length(block_size, block_bytes, bandwidth, latency, parameters, flops)
    return blocks * block_size if blocks else 0


def no_factor_two(block_size, block_bytes, bandwidth, latency, parameters, flops):
    blocks = _length(block_size, block_bytes, bandwidth, latency, parameters, flops, factor=1)
    return blocks * block_size if blocks else None


def without_the_bytes(block_size, block_bytes, bandwidth, latency, parameters, flops):
    return max(1, ceil(latency * flops / (2 * parameters * block_size))) * block_size


def one_token_a_block(block_size, block_bytes, bandwidth, latency, parameters, flops):
    gain = 2 * parameters / flops - block_bytes / bandwidth
    return None if gain <= 0 else max(1, ceil(latency / gain)) * block_size


def latency_a_block(block_size, block_bytes, bandwidth, latency, parameters, flops):
    return block_size if latency + block_bytes / bandwidth <= 2 * parameters * block_size / flops else None


_BOTH = "compare for one block: 2 * parameters * block_size / flops, and block_bytes / bandwidth"
_UP = "whole blocks: round up, at least 1, times block_size"

BREAK_EVEN = Exercise(
    name="break_even_tokens", lab="10", part="kvlab.memory.break_even_tokens", stars=2, core=True, minutes=10,
    checks=(
        Cases("latency to make up", (16, 2097152, 5e9, 0.01, 8e9, 300e12), (16, 2097152, 3e9, 0.001, 8e9, 300e12),
              (4, 1e6, 1e9, 0.1, 1e9, 1e12), (32, 4194304, 5e9, 0.003, 8e9, 300e12), (16, 2097152, 7e9, 1e-4, 8e9,
              312e12), next=_UP),
        Cases("no latency", (16, 2097152, 32e9, 0.0, 8e9, 312e12), (64, 8388608, 32e9, 0.0, 8e9, 312e12),
              next="one block pays already"),
        Cases("never", (16, 2097152, 2e9, 0.0, 8e9, 300e12), (16, 2097152, 2e9, 0.01, 8e9, 300e12),
              (16, 2097152, 1e9, 0.001, 8e9, 989e12), next="None if a block's way takes longer than computing it"),
    ),
    mistakes=(
        Mistake(in_blocks, "The value is in blocks. The question is for tokens.", next="times block_size"),
        Mistake(part_of_a_block, "Gives tokens that fill no whole block. Only whole blocks are stored.", next=_UP),
        Mistake(down, "Rounds down. With one block less, computing is still faster.", next=_UP),
        Mistake(none_at_all, "Gives 0 without a latency. The shortest that can be loaded is one block.", next=_UP),
        Mistake(never_none, "Gives a length though loading never pays: each block more makes it worse.",
                next="None if a block's way takes longer than computing it"),
        Mistake(negative, "Gives a length of 0 or less. It says that the way is longer than the computation.",
                next="None if a block's way takes longer than computing it"),
        Mistake(zero_for_never, "Gives 0 where loading never pays. That would say it always does.",
                next="None in place of 0"),
        Mistake(no_factor_two, "Counts one operation for each parameter. A token multiplies and adds with each: two.",
                next=_BOTH),
        Mistake(without_the_bytes, "Leaves out the bytes. A block has to come all the way, after the latency.",
                next=_BOTH),
        Mistake(one_token_a_block, "Compares a token's computation with a block's way.", next=_BOTH),
        Mistake(latency_a_block, "Looks at one block alone. The latency is paid once, for as many as come at once.",
                next="how many blocks make up for the latency?"),
    ),
    hints=(
        "Computing a block takes 0.9 ms, and its way 0.4 ms, after 10 ms of latency. After how many blocks is loading "
        "ahead?",
        "Each block gains the time of its computation minus that of its way. So many blocks are needed that their "
        "gains reach the latency: round up, and at least one. If a block gains nothing, there is no such number.",
        "gain = 2 * parameters * block_size / flops - block_bytes / bandwidth; None if gain <= 0; max(1, "
        "ceil(latency / gain)) * block_size",
    ),
)

