"""Lab 07: the keys of a prompt's blocks."""

from __future__ import annotations

from hashlib import sha256

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises.hashes_bench import random_texts, render, run
from kvlab.course.exercises.scenarios import scenarios


def _key(*what):
    return sha256(repr(what).encode()).hexdigest()


def _blocks(tokens, block_size):
    return [tokens[end - block_size : end] for end in range(block_size, len(tokens) + 1, block_size)]


def _chain(start, blocks):
    keys = []
    for block in blocks:
        start = _key(start, block)
        keys.append(start)
    return keys


def without_parent(tokens, block_size, tag=()):
    return [_key(block, tag) for block in _blocks(tokens, block_size)]


def without_parent_or_tag(tokens, block_size, tag=()):
    return [_key(block) for block in _blocks(tokens, block_size)]


def parents_tokens_only(tokens, block_size, tag=()):
    blocks = _blocks(tokens, block_size)
    return [_key(blocks[i - 1] if i else None, block, tag) for i, block in enumerate(blocks)]


def place_for_parent(tokens, block_size, tag=()):
    return [_key(i, block, tag) for i, block in enumerate(_blocks(tokens, block_size))]


def partial_block(tokens, block_size, tag=()):
    return _chain(tag, [tokens[start : start + block_size] for start in range(0, len(tokens), block_size)])


def one_too_few(tokens, block_size, tag=()):
    return _chain(tag, _blocks(tokens, block_size)[: max(0, len(tokens) - 1) // block_size])


def without_tag(tokens, block_size, tag=()):
    return _chain(None, _blocks(tokens, block_size))


def tag_glued(tokens, block_size, tag=()):
    return _chain("".join(str(part) for part in tag), _blocks(tokens, block_size))


def tag_glued_without_none(tokens, block_size, tag=()):
    return _chain("".join(part or "" for part in tag), _blocks(tokens, block_size))


def tag_sorted(tokens, block_size, tag=()):
    return _chain(sorted(map(str, tag)), _blocks(tokens, block_size))


def tag_first_part(tokens, block_size, tag=()):
    return _chain(tag[:1], _blocks(tokens, block_size))


def tag_last_block_only(tokens, block_size, tag=()):
    keys = _chain(None, _blocks(tokens, block_size))
    return [*keys[:-1], _key(keys[-1], tag)] if keys else []


def tokens_glued(tokens, block_size, tag=()):
    return _chain(tag, ["".join(map(str, block)) for block in _blocks(tokens, block_size)])


def order_lost(tokens, block_size, tag=()):
    return _chain(tag, [sorted(block) for block in _blocks(tokens, block_size)])


def sum_of_tokens(tokens, block_size, tag=()):
    return _chain(tag, [sum(block) for block in _blocks(tokens, block_size)])


def last_key_only(tokens, block_size, tag=()):
    return _chain(tag, _blocks(tokens, block_size))[-1:]


def whole_text(tokens, block_size, tag=()):
    return [_key(tokens, i, tag) for i in range(len(tokens) // block_size)]


def first_token(tokens, block_size, tag=()):
    return _chain(tag, [block[0] for block in _blocks(tokens, block_size)])


_T, _NO = (1, 2, 3, 4), ()

BLOCK_HASHES = Exercise(
    name="block_hashes", lab="07", part="kvlab.memory.block_hashes", stars=2, core=True, minutes=12,
    checks=(
        scenarios("full blocks", run, render,
                  (4, ((1, 2, 3, 4, 5), _NO), ((1, 2, 3, 4, 5), _NO)), (4, (_T, _NO), (_T, _NO)),
                  (2, ((1, 2, 3, 4, 5), _NO), ((1, 2, 3, 4, 6), _NO)), (4, ((1, 2, 3), _NO), ((1, 2, 3), _NO)),
                  (4, (_NO, _NO), (_NO, _NO)),
                  next="begin at block 0, and leave out the block that is not full"),
        scenarios("the same beginning", run, render, (2, (_T, _NO), ((1, 2, 9, 9), _NO)),
                  (2, ((1, 2, 3, 4, 5, 6), _NO), ((1, 2, 3, 4, 7, 8), _NO)), (2, (_T, ("X",)), ((1, 2, 9, 9), ("X",))),
                  next="let the tokens up to the block's end decide"),
        scenarios("every token", run, render, (2, ((1, 2), _NO), ((2, 1), _NO)), (2, ((1, 12), _NO), ((11, 2), _NO)),
                  (2, ((1, 2), _NO), ((1, 3), _NO)), (2, ((1, 4), _NO), ((2, 3), _NO)), (1, ((1,), _NO), ((2,), _NO)),
                  next="let each token of the block into its key, and their order"),
        scenarios("the block before", run, render, (2, (_T, _NO), ((9, 9, 3, 4), _NO)),
                  (2, ((7, 7, 7, 7), _NO), ((7, 7), _NO)),
                  (2, ((1, 1, 2, 2, 3, 3), _NO), ((9, 9, 2, 2, 3, 3), _NO)),
                  invariant="I9", next="let the key of the block before into each key"),
        scenarios("the tag", run, render, (2, (_T, _NO), (_T, ("X",))), (2, (_T, ("X", None)), (_T, (None, "X"))),
                  (2, (_T, ("ab", "c")), (_T, ("a", "bc"))), (2, (_T, ("X", "s")), (_T, ("X", "t"))),
                  invariant="I9", next="let the tag into the first key, as one piece"),
        Traces("random texts", random_texts, run, render=render, invariant="I9", next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(without_parent,
                "Each block is hashed by itself. Its keys and values depend on all tokens before it as well.",
                invariant="I9", next="let the key of the block before into each key"),
        Mistake(without_parent_or_tag,
                "Each block is hashed by itself. Its keys and values depend on the tag and on all tokens before it.",
                invariant="I9", next="begin with the tag, and let the key of the block before into each key"),
        Mistake(parents_tokens_only,
                "Looks at the tokens of the block before, and no further back. That block has a past too.",
                invariant="I9", next="use the key of the block before in place of its tokens"),
        Mistake(place_for_parent,
                "Uses the block's number for its past. Two texts of equal length have the same numbers.",
                invariant="I9", next="use the key of the block before"),
        Mistake(partial_block, "Hashes the block that is not full yet. Its next token would make the key wrong.",
                next="stop at the last full block"),
        Mistake(one_too_few,
                "Leaves out the last block when the tokens end with it. It is full, and the next prompt may go on.",
                next="hash every full block; that a hit leaves a token is the next exercise"),
        Mistake(without_tag, "The tag is not used: two customers of different adapters would get each other's blocks.",
                invariant="I9", next="let the chain begin with the tag"),
        Mistake(tag_glued, "Glues the parts of the tag together: ('ab', 'c') and ('a', 'bc') become one text.",
                invariant="I9", next="hash the tag as a tuple, or its repr"),
        Mistake(tag_glued_without_none,
                "Glues the parts of the tag together, so an adapter X and a salt X are the same.", invariant="I9",
                next="hash the tag as a tuple, or its repr"),
        Mistake(tag_sorted, "Sorts the tag. Adapter X without salt is not salt X without adapter.", invariant="I9",
                next="hash the tag as it is"),
        Mistake(tag_first_part, "Uses the first part of the tag alone. The others set texts apart as well.",
                invariant="I9", next="use the whole tag"),
        Mistake(tag_last_block_only, "The tag is in the last key alone, so the blocks before it are shared by all.",
                invariant="I9", next="let the chain begin with the tag"),
        Mistake(tokens_glued, "Glues the digits of the tokens together: 1, 12 and 11, 2 become the same.",
                next="hash the tokens as a tuple, or their repr"),
        Mistake(order_lost, "Loses the order of the tokens: 'dog bites man' and 'man bites dog' become the same.",
                next="hash the block as it is"),
        Mistake(sum_of_tokens, "Looks like a sum. Many blocks have the same sum.", next="hash every token"),
        Mistake(first_token, "Uses one token of each block. The others may differ.", next="hash every token"),
        Mistake(last_key_only, "Gives the last key alone. A prompt that shares only a part must find that part.",
                next="collect the key of each block on the way"),
        Mistake(whole_text, "Each key knows the whole text. Then only a prompt that is equal to its end is found.",
                next="use the tokens up to the block's end"),
    ),
    hints=(
        "Two prompts hold the same 16 tokens in their second block, but begin differently. May they share that block?",
        "Walk over the full blocks and carry the last key along: each new key is a hash of (key before, tokens of this "
        "block). The first one has no key before it, so it gets the tag.",
        "before = tag; for end in range(block_size, len(tokens) + 1, block_size): before = sha256(repr((before, "
        "tokens[...:end])).encode()).hexdigest(); keys.append(before)",
    ),
)
