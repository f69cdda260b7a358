"""Lab 10: from which length on bringing blocks back from a tier beats computing them again."""

from __future__ import annotations

from math import ceil
from typing import Any

from kvlab.course.declare import Exercise, Mistake, Wrong
from kvlab.course.exercises.scenarios import corners, is_count, scenarios
from kvlab.course.shorten import show, with_article
from kvlab.memory import break_even_tokens as right_even


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


def one_more(block_size, block_bytes, bandwidth, latency, parameters, flops):
    gain = 2 * parameters * block_size / flops - block_bytes / bandwidth
    return None if gain <= 0 else (int(latency / gain) + 1) * block_size


def in_tokens(block_size, block_bytes, bandwidth, latency, parameters, flops):
    gain = (2 * parameters * block_size / flops - block_bytes / bandwidth) / block_size
    return None if gain <= 0 else max(1, int(latency / gain))


def sign_turned(block_size, block_bytes, bandwidth, latency, parameters, flops):
    gain = block_bytes / bandwidth - 2 * parameters * block_size / flops
    return None if gain <= 0 else max(1, ceil(latency / gain)) * block_size


def gives_up(block_size, block_bytes, bandwidth, latency, parameters, flops):
    length = right_even(block_size, block_bytes, bandwidth, latency, parameters, flops)
    return None if length is None or length >= 10_000 * block_size else length


Case = tuple[int, float, float, float, float, float]


def run_even(part: Any, case: Case) -> None:
    """`Wrong` if the part's length is not the finished one's; None for a length says what it would mean."""
    wanted, got = right_even(*case), part(*case)
    if got is None and wanted is None or is_count(got) and got == wanted:
        return
    block_size, block_bytes, bandwidth, latency, parameters, flops = case
    load, compute = block_bytes / bandwidth, 2 * parameters * block_size / flops
    times = f"a block is loaded in {load:.3g} s, and computed in {compute:.3g} s"
    if got is None:
        raise Wrong(f"returned None, which says that loading never pays. Expected {wanted}: {times}.",
                    next=_EQUAL if load == compute else "end with `return`, and look at the sign of a block's gain",
                    alike="None")
    if wanted is None:
        raise Wrong(f"returned {show(got, 30)}, expected None: {times}, and the latency is {latency:g} s.",
                    alike=show(got, 30))
    kind = f" ({with_article(type(got))})" if not is_count(got) else ""
    raise Wrong(f"returned {show(got, 30)}{kind}, expected {wanted}.",
                next="return whole blocks as an int" if isinstance(got, float) and got == wanted else None)


def call_even(case: Case) -> list[str]:
    """The call with its sizes by name, so that every line can be read to its end and run."""
    block_size, block_bytes, bandwidth, latency, parameters, flops = case
    return [f"block_size, block_bytes, bandwidth = {block_size}, {block_bytes}, {bandwidth:g}",
            f"latency, parameters, flops = {latency}, {parameters:g}, {flops:g}",
            "break_even_tokens(block_size, block_bytes, bandwidth, latency, parameters, flops)"]


_BOTH = "compare computing a block and loading it"
_UP = "whole blocks: round up, at least 1, times block_size"
_NEVER = "None if loading a block takes longer than computing it"
_EQUAL = "no gain: never with a latency, from one block on without"

BREAK_EVEN = Exercise(
    name="break_even_tokens", lab="10", part="kvlab.memory.break_even_tokens", stars=2, core=True, minutes=10,
    checks=(
        scenarios("latency to make up", run_even, call_even, (16, 2097152, 5e9, 0.01, 8e9, 300e12),
                  (16, 2097152, 3e9, 0.001, 8e9, 300e12), (4, 1e6, 1e9, 0.1, 1e9, 1e12),
                  (32, 4194304, 5e9, 0.003, 8e9, 300e12), (16, 2097152, 7e9, 1e-4, 8e9, 312e12), next=_UP),
        scenarios("no latency", run_even, call_even, (16, 2097152, 32e9, 0.0, 8e9, 312e12),
                  (64, 8388608, 32e9, 0.0, 8e9, 312e12), next="one block pays already"),
        scenarios("never", run_even, call_even, (16, 2097152, 2e9, 0.0, 8e9, 300e12),
                  (16, 2097152, 2e9, 0.01, 8e9, 300e12), (16, 2097152, 1e9, 0.001, 8e9, 989e12), next=_NEVER),
        scenarios("a tie", run_even, call_even, (4, 1, 1, 4.0, 1, 4), (16, 2, 1, 6.0, 1, 8),
                  next="no slower: as long as computing is enough"),
        scenarios("far away", run_even, call_even, (16, 1, 1, 2048.0, 33, 1024),
                  next="a division finds every length; a loop must not stop early"),
        corners("nothing gained", run_even, call_even, (1, 1, 1, 1.0, 1, 2), (4, 1, 1, 0.5, 1, 8),
                (4, 1, 1, 0.0, 1, 8), (1, 1, 1, 0.0, 1, 2), next=_EQUAL),
    ),
    mistakes=(
        Mistake(in_blocks, "The value is in blocks. The question is for tokens.", next="times block_size"),
        Mistake(part_of_a_block, "Gives tokens that fill no whole block. Only whole blocks are stored.", next=_UP),
        Mistake(down, "Rounds down. With one block less, computing is still faster.", next=_UP),
        Mistake(none_at_all, "Gives 0 without a latency. The shortest that can be loaded is one block.", next=_UP),
        Mistake(never_none, "Gives a length though loading never pays: each block more makes it worse.", next=_NEVER),
        Mistake(negative, "Gives a length of 0 or less. It says that loading takes longer than computing.",
                next=_NEVER),
        Mistake(zero_for_never, "Gives 0 where loading never pays. That would say it always does.",
                next="None in place of 0"),
        Mistake(no_factor_two, "Counts one operation for each parameter. A token multiplies and adds with each: two.",
                next=_BOTH),
        Mistake(without_the_bytes, "Leaves out the bytes. A block has to come all the way, after the latency.",
                next=_BOTH),
        Mistake(one_token_a_block, "Compares computing a token with loading a block.", next=_BOTH),
        Mistake(latency_a_block, "Looks at one block alone. The latency is paid once, for as many as come at once.",
                next="how many blocks make up for the latency?"),
        Mistake(one_more, "Goes one block too far at a tie. As long as computing is no slower.",
                next="round up in place of int(...) + 1, or <= in place of <"),
        Mistake(in_tokens, "Looks for a number of tokens. Blocks are loaded whole, so it is whole blocks.", next=_UP),
        Mistake(sign_turned, "Looks as if a gain had the wrong sign: says never where it pays.",
                next="what a block gains is its computation minus its loading"),
        Mistake(gives_up, "Stops looking too early. Some lengths lie beyond.",
                next="a division finds every length; a loop must not stop early"),
    ),
    hints=(
        "Computing a block takes 0.9 ms, and loading it 0.4 ms, after 10 ms of latency. After how many blocks is "
        "loading ahead?",
        "Each block gains the time to compute it minus the time to load it. So many blocks are needed that their gains "
        "reach the latency: round up. If one block's gain is enough, it is one. Else, if a block gains nothing, there "
        "is no such number.",
        "gain = 2 * parameters * block_size / flops - block_bytes / bandwidth; block_size if latency <= gain; None if "
        "gain <= 0; else ceil(latency / gain) * block_size",
    ),
)
