"""Lab 10: what it takes to bring blocks back from a tier."""

from __future__ import annotations

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
