"""Lab 05: a long context is cut into parts that several programs attend."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises.lab05_split_bench import Value, random_contexts, render, run
from kvlab.course.exercises.scenarios import scenarios


def cuts_at_tokens(num_tokens, num_splits, block_size):
    parts = min(num_splits, -(-num_tokens // block_size))
    edges = [i * num_tokens // parts for i in range(parts + 1)] if parts else []
    return list(zip(edges, edges[1:], strict=False))


def equal_token_chunks(num_tokens, num_splits, block_size):
    size = -(-num_tokens // num_splits)
    return [(start, min(start + size, num_tokens)) for start in range(0, num_tokens, size or 1)]


def drops_the_rest(num_tokens, num_splits, block_size):
    size = num_tokens // block_size // num_splits * block_size
    return [(i * size, (i + 1) * size) for i in range(num_splits)]


def rest_to_the_last(num_tokens, num_splits, block_size):
    blocks = -(-num_tokens // block_size)
    parts = min(num_splits, blocks)
    size = blocks // parts * block_size if parts else 0
    return [(i * size, num_tokens if i == parts - 1 else (i + 1) * size) for i in range(parts)]


def rounds_the_size_up(num_tokens, num_splits, block_size):
    blocks = -(-num_tokens // block_size)
    size = -(-blocks // num_splits) * block_size
    return [(start, min(start + size, num_tokens)) for start in range(0, num_tokens, size or 1)]


def empty_parts(num_tokens, num_splits, block_size):
    blocks = -(-num_tokens // block_size)
    edges = [min(i * blocks // num_splits * block_size, num_tokens) for i in range(num_splits + 1)]
    return list(zip(edges, edges[1:], strict=False))


def in_blocks(num_tokens, num_splits, block_size):
    blocks = -(-num_tokens // block_size)
    parts = min(num_splits, blocks)
    return [(i * blocks // parts, (i + 1) * blocks // parts) for i in range(parts)]


def ends_with_the_block(num_tokens, num_splits, block_size):
    return [(start * block_size, end * block_size) for start, end in in_blocks(num_tokens, num_splits, block_size)]


def last_token_inclusive(num_tokens, num_splits, block_size):
    return [(start, end - 1) for start, end in right(num_tokens, num_splits, block_size)]


def start_and_length(num_tokens, num_splits, block_size):
    return [(start, end - start) for start, end in right(num_tokens, num_splits, block_size)]


def block_by_block(num_tokens, num_splits, block_size):
    return right(num_tokens, num_tokens, block_size)


def not_at_all(num_tokens, num_splits, block_size):
    return [(0, num_tokens)] if num_tokens else []


def something_for_nothing(num_tokens, num_splits, block_size):
    return right(num_tokens, num_splits, block_size) or [(0, 0)]


def blocks_of_sixteen(num_tokens, num_splits, block_size):
    return right(num_tokens, num_splits, 16)


def starts_alone(num_tokens, num_splits, block_size):
    return [start for start, _ in right(num_tokens, num_splits, block_size)]


def right(num_tokens, num_splits, block_size):
    return [(start, min(end, num_tokens)) for start, end in ends_with_the_block(num_tokens, num_splits, block_size)]


def cuts(name: str, *values: Value, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)


_BLOCKS = "count in blocks, and multiply by block_size at the end"
_EVEN = "let part i begin at block i * blocks // parts"
_ROUND = "count blocks rounded up, and let the last part end at num_tokens"

SPLIT_KV: Any = Exercise(
    name="split_kv", lab="05", part="kvlab.kernels.heuristics.split_kv", stars=2, core=True, minutes=10,
    checks=(
        cuts("evenly", (64, 4, 16), (32, 2, 4), (24, 3, 4), next=_EVEN),
        cuts("at blocks", (40, 4, 4), (27, 3, 4), (100, 3, 16), next=_BLOCKS),
        cuts("a block more or less", (36, 4, 4), (44, 4, 4), (68, 5, 4), (7, 3, 1), next=_EVEN),
        cuts("fewer blocks than splits", (20, 8, 16), (3, 5, 1), (16, 2, 16), (1, 4, 16),
             next="make no more parts than there are blocks"),
        cuts("one split", (37, 1, 16), next="treat num_splits = 1"),
        cuts("no tokens", (0, 4, 16), (0, 1, 1), next="return an empty list for 0 tokens"),
        Traces("random contexts", random_contexts, run, render=render, next="go through this call by hand"),
    ),
    mistakes=(
        Mistake(cuts_at_tokens, "Cuts at any token. A block that is cut in two has to be read by both parts.",
                next=_BLOCKS),
        Mistake(equal_token_chunks, "Cuts at any token. A block that is cut in two has to be read by both parts.",
                next=_BLOCKS),
        Mistake(drops_the_rest, "Looks like // twice: what does not divide evenly is in no part at all.", next=_ROUND),
        Mistake(rest_to_the_last, "Gives all that is left over to the last part. The others are done, and wait for it.",
                next=_EVEN),
        Mistake(rounds_the_size_up,
                "Rounds the size of a part up, so that the first ones take everything, and there are too few parts.",
                next=_EVEN),
        Mistake(empty_parts, "Some parts are empty. A program would be started for nothing.",
                next="make no more parts than there are blocks"),
        Mistake(in_blocks, "Starts and ends are numbers of blocks. Tokens are asked.", next=_BLOCKS),
        Mistake(ends_with_the_block, "The last part ends with its block, behind the last token.", invariant="I6",
                next="let the last part end at num_tokens"),
        Mistake(last_token_inclusive, "Looks like end - 1. An end is the first token that is no more in the part.",
                next="use ends as range() does"),
        Mistake(start_and_length, "Looks like (start, length). The second number is where the part ends.",
                next="give start + length"),
        Mistake(block_by_block, "Makes a part of every block. num_splits says how many parts are wanted.",
                next="make at most num_splits parts"),
        Mistake(not_at_all, "Makes one part of everything. num_splits says how many are wanted.", next=_EVEN),
        Mistake(something_for_nothing, "0 tokens have no part, and here is one that is empty.",
                next="return an empty list for 0 tokens"),
        Mistake(blocks_of_sixteen, "Right for blocks of 16 only.", next="use block_size"),
        Mistake(starts_alone, "Gives the starts alone. The ends are asked too.", next="give pairs (start, end)"),
    ),
    hints=(
        "40 tokens in blocks of 4, and 3 parts: how many blocks has each part, if they are as even as they can be?",
        "Count blocks first, rounded up. There are min(num_splits, blocks) parts, and part i begins at block i * "
        "blocks // parts. Only then turn blocks into tokens; the last part ends at num_tokens.",
        "edges = [i * blocks // parts * block_size for i in range(parts)] + [num_tokens], and the parts are "
        "zip(edges, edges[1:]); for 0 tokens there are none",
    ),
)
