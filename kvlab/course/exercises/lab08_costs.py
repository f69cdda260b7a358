"""Lab 08: what it costs to recompute a request, and what to swap it."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.memory import recompute_seconds as right_run
from kvlab.memory import swap_seconds as right_swap


def no_factor_two(num_tokens, parameters, flops, weight_bytes, bandwidth):
    return max(parameters * num_tokens / flops, weight_bytes / bandwidth) if num_tokens else 0.0


def arithmetic_alone(num_tokens, parameters, flops, weight_bytes, bandwidth):
    return 2 * parameters * num_tokens / flops


def reading_alone(num_tokens, parameters, flops, weight_bytes, bandwidth):
    return weight_bytes / bandwidth if num_tokens else 0.0


def added(num_tokens, parameters, flops, weight_bytes, bandwidth):
    return 2 * parameters * num_tokens / flops + weight_bytes / bandwidth if num_tokens else 0.0


def the_shorter(num_tokens, parameters, flops, weight_bytes, bandwidth):
    return min(2 * parameters * num_tokens / flops, weight_bytes / bandwidth)


def read_for_each_token(num_tokens, parameters, flops, weight_bytes, bandwidth):
    return num_tokens * max(2 * parameters / flops, weight_bytes / bandwidth)


def nothing_costs_a_reading(num_tokens, parameters, flops, weight_bytes, bandwidth):
    return max(2 * parameters * num_tokens / flops, weight_bytes / bandwidth)


def in_milliseconds(num_tokens, parameters, flops, weight_bytes, bandwidth):
    return 1000 * right_run(num_tokens, parameters, flops, weight_bytes, bandwidth)


def one_way(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return num_blocks * (block_bytes / bandwidth + per_copy)


def bits(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return 2 * num_blocks * (8 * block_bytes / bandwidth + per_copy)


def bits_one_way(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return num_blocks * (8 * block_bytes / bandwidth + per_copy)


def bits_the_other_way(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return 2 * num_blocks * (block_bytes / (8 * bandwidth) + per_copy / 8)


def no_start(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return 2 * num_blocks * block_bytes / bandwidth


def one_start(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return 2 * num_blocks * block_bytes / bandwidth + per_copy


def two_starts(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return 2 * (num_blocks * block_bytes / bandwidth + per_copy)


def start_one_way(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return num_blocks * (2 * block_bytes / bandwidth + per_copy)


def one_block(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return 2 * (block_bytes / bandwidth + per_copy)


def swap_in_milliseconds(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    return 1000 * right_swap(num_blocks, block_bytes, bandwidth, per_copy)


_TWICE = "multiply and add for each parameter: 2 * parameters * num_tokens"

RECOMPUTE_SECONDS = Exercise(
    name="recompute_seconds", lab="08", part="kvlab.memory.recompute_seconds", stars=1, core=True, minutes=6,
    checks=(
        Cases("many tokens", (1000, 8e9, 312e12, 16e9, 2e12), (4000, 7e9, 989e12, 14e9, 3e12), next=_TWICE),
        Cases("few tokens", (1, 8e9, 312e12, 16e9, 2e12), (50, 8e9, 312e12, 16e9, 2e12),
              next="not less than the time to read the weights"),
        Cases("no tokens", (0, 8e9, 312e12, 16e9, 2e12), next="nothing to run takes 0.0"),
    ),
    mistakes=(
        Mistake(no_factor_two, "Counts one operation for each parameter. A token multiplies and adds with each: two.",
                next=_TWICE),
        Mistake(arithmetic_alone,
                "Leaves out the reading. Even one token needs every weight to be read from memory once.",
                next="the longer of arithmetic and reading"),
        Mistake(reading_alone, "Looks at the reading alone. A thousand tokens are bound by arithmetic.",
                next="the longer of arithmetic and reading"),
        Mistake(added, "Adds the two times. A GPU reads and multiplies at the same time, so the longer one counts.",
                next="max in place of +"),
        Mistake(the_shorter, "Takes the shorter of the two. A step ends when the slower one is done.",
                next="max in place of min"),
        Mistake(read_for_each_token,
                "Reads the weights for each token. In one step all tokens use the weights that were read once.",
                next="the reading does not depend on num_tokens"),
        Mistake(nothing_costs_a_reading, "Reads the weights for no token at all. Nothing to run takes 0.0.",
                next="treat num_tokens == 0"),
        Mistake(in_milliseconds, "The value is in milliseconds. The question is for seconds.", next="leave out 1000"),
    ),
    hints=(
        "What must a GPU do for one token, and what for a thousand in the same step? Which of it happens only once?",
        "Two operations for each parameter and token, at flops a second. Meanwhile the weights are read once. The "
        "longer of both is the time.",
        "max(2 * parameters * num_tokens / flops, ... / bandwidth) if num_tokens else 0.0",
    ),
)

SWAP_SECONDS = Exercise(
    name="swap_seconds", lab="08", part="kvlab.memory.swap_seconds", stars=1, core=True, minutes=5,
    checks=(
        Cases("bytes alone", (63, 2097152, 32e9), (10, 2097152, 64e9), next="there and back: twice the bytes"),
        Cases("every copy has to start", (63, 2097152, 32e9, 1e-5), (5, 131072, 32e9, 2e-5),
              next="per_copy is paid for each copy"),
        Cases("no blocks", (0, 2097152, 32e9, 1e-5), next="no block, no copy"),
    ),
    mistakes=(
        Mistake(one_way, "Copies one way only. What goes to the host has to come back before the request runs again.",
                next="twice: out and in"),
        Mistake(bits, "Turns bytes into bits. The bandwidth is in bytes a second already.", next="leave out the 8"),
        Mistake(bits_one_way, "Turns bytes into bits, and copies one way only.", next="bytes, and twice"),
        Mistake(bits_the_other_way, "Divides by 8, as if the link's figure were in bits. It is in bytes a second.",
                next="leave out the 8"),
        Mistake(no_start, "Leaves out per_copy. Each copy takes that long however small it is.",
                next="add per_copy for each copy"),
        Mistake(one_start, "Pays per_copy once. There is a copy for each block, and each way.",
                next="per_copy belongs inside the brackets"),
        Mistake(two_starts, "Pays per_copy once each way. There is a copy for each block.",
                next="per_copy belongs inside the brackets"),
        Mistake(start_one_way, "Pays per_copy on one way only. Coming back, every block is copied again.",
                next="twice: out and in"),
        Mistake(one_block, "Copies one block, whatever their number.", next="multiply by num_blocks"),
        Mistake(swap_in_milliseconds, "The value is in milliseconds. The question is for seconds.",
                next="leave out 1000"),
    ),
    hints=(
        "A block goes to the host. What has to happen before its request can run again?",
        "Each block is copied twice. A copy takes its bytes over the bandwidth, and per_copy besides.",
        "2 * num_blocks * (block_bytes / ... + ...)",
    ),
)
