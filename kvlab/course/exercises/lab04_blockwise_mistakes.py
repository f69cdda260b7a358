"""`attend_blockwise` as beginners write it: the walk over the blocks, with one thought gone wrong in it."""

from __future__ import annotations

from kvlab.course.exercises.lab04_tensors import torch


def blocks(query, key_pool, value_pool, table, length, scale):
    """Each block's scores [heads, filled] and values [heads, filled, dim]: what most of the mistakes begin with."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    share = query.shape[0] // key_pool.shape[2]
    for start in range(0, length, key_pool.shape[1]):
        block = table[start // key_pool.shape[1]]
        key = key_pool[block, : length - start].repeat_interleave(share, 1)
        value = value_pool[block, : length - start].repeat_interleave(share, 1)
        yield torch.einsum("hd,thd->ht", query, key) * scale, value.transpose(0, 1)


def begin(query, value_pool, largest=float("-inf")):
    heads = query.shape[0]
    return torch.full((heads,), largest), torch.zeros(heads), torch.zeros(heads, value_pool.shape[-1])


def weigh(weights, value):
    return (weights[:, None] @ value)[:, 0]


def right(largest, total, output, scores, value):
    """What the walk makes of one more block: the largest score, the sum, and the output that is not divided yet."""
    higher = torch.maximum(largest, scores.amax(1))
    shrink, weights = torch.exp(largest - higher), torch.exp(scores - higher[:, None])
    return higher, total * shrink + weights.sum(1), output * shrink[:, None] + weigh(weights, value)


def walk(query, key_pool, value_pool, table, length, scale=None, start=float("-inf"), step=right):
    state = begin(query, value_pool, start)
    for scores, value in blocks(query, key_pool, value_pool, table, length, scale):
        state = step(*state, scores, value)
    return state


def finish(length, largest, total, output):
    if length == 0:
        return output, largest
    return output / total[:, None], largest + total.log()


def each_block(step):
    """The part that takes this step at each block, and does all else rightly."""

    def part(query, key_pool, value_pool, table, length, scale=None):
        return finish(length, *walk(query, key_pool, value_pool, table, length, scale, step=step))

    part.__name__ = step.__name__
    return part


@each_block
def no_rescale(largest, total, output, scores, value):
    largest = torch.maximum(largest, scores.amax(1))
    weights = torch.exp(scores - largest[:, None])
    return largest, total + weights.sum(1), output + weigh(weights, value)


@each_block
def rescales_sum_alone(largest, total, output, scores, value):
    higher = torch.maximum(largest, scores.amax(1))
    weights = torch.exp(scores - higher[:, None])
    return higher, total * torch.exp(largest - higher) + weights.sum(1), output + weigh(weights, value)


@each_block
def rescales_output_alone(largest, total, output, scores, value):
    higher = torch.maximum(largest, scores.amax(1))
    weights = torch.exp(scores - higher[:, None])
    return higher, total + weights.sum(1), output * torch.exp(largest - higher)[:, None] + weigh(weights, value)


@each_block
def rescales_new_too(largest, total, output, scores, value):
    higher = torch.maximum(largest, scores.amax(1))
    shrink = torch.exp(largest - higher)
    weights = torch.exp(scores - higher[:, None])
    return higher, (total + weights.sum(1)) * shrink, (output + weigh(weights, value)) * shrink[:, None]


@each_block
def grows(largest, total, output, scores, value):
    higher = torch.maximum(largest, scores.amax(1))
    grow, weights = torch.exp(higher - largest), torch.exp(scores - higher[:, None])
    return higher, total * grow + weights.sum(1), output * grow[:, None] + weigh(weights, value)


def no_exp(query, key_pool, value_pool, table, length, scale=None):
    def step(largest, total, output, scores, value):
        higher = torch.maximum(largest, scores.amax(1))
        shrink, weights = largest - higher, torch.exp(scores - higher[:, None])
        return higher, total * shrink + weights.sum(1), output * shrink[:, None] + weigh(weights, value)

    start = -1e30  # with -inf it is nan from the first block on, as `grows`
    return finish(length, *walk(query, key_pool, value_pool, table, length, scale, start, step))


@each_block
def largest_falls(largest, total, output, scores, value):
    higher = scores.amax(1)  # and the old sums are multiplied by what may be far above 1
    shrink, weights = torch.exp(largest - higher), torch.exp(scores - higher[:, None])
    return higher, total * shrink + weights.sum(1), output * shrink[:, None] + weigh(weights, value)


@each_block
def forgets_the_largest(largest, total, output, scores, value):
    higher = scores.amax(1)  # of this block alone
    weights = torch.exp(scores - higher[:, None])
    return higher, total + weights.sum(1), output + weigh(weights, value)


def divided(largest, total, output, scores, value):
    largest, total, output = right(largest, total, output, scores, value)
    return largest, total, output / total[:, None]


def divides_in_the_loop(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale, step=divided)
    return output, largest + total.log()


@each_block
def divides_in_the_loop_too(largest, total, output, scores, value):
    return divided(largest, total, output, scores, value)


@each_block
def never_moves_the_largest(largest, total, output, scores, value):
    higher = torch.maximum(largest, scores.amax(1))
    shrink, weights = torch.exp(largest - higher), torch.exp(scores - higher[:, None])
    return largest, total * shrink + weights.sum(1), output * shrink[:, None] + weigh(weights, value)


def never_divides(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale)
    return output, largest + total.log()


def mean_of_blocks(query, key_pool, value_pool, table, length, scale=None):
    largest, total, _ = walk(query, key_pool, value_pool, table, length, scale)
    parts = [weigh(scores.softmax(1), value)
             for scores, value in blocks(query, key_pool, value_pool, table, length, scale)]
    output = sum(parts) / len(parts) if parts else torch.zeros(query.shape[0], value_pool.shape[-1])
    return output, largest + total.log()


def no_largest(query, key_pool, value_pool, table, length, scale=None):
    _, total, output = begin(query, value_pool)
    for scores, value in blocks(query, key_pool, value_pool, table, length, scale):
        total = total + scores.exp().sum(1)
        output = output + weigh(scores.exp(), value)
    return (output / total[:, None] if length else output), total.log()


def largest_begins_at_zero(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale, start=0.0)
    return (output / total[:, None] if length else output), largest + total.log()


def one_largest_for_all(query, key_pool, value_pool, table, length, scale=None):
    _, total, output = begin(query, value_pool)
    largest = torch.tensor(float("-inf"))
    for scores, value in blocks(query, key_pool, value_pool, table, length, scale):
        higher = torch.maximum(largest, scores.max())
        weights = torch.exp(scores - higher)
        total = total * torch.exp(largest - higher) + weights.sum(1)
        output = output * torch.exp(largest - higher) + weigh(weights, value)
        largest = higher
    return (output / total[:, None] if length else output), largest + total.log()


def nan_for_nothing(query, key_pool, value_pool, table, length, scale=None):
    largest, total, output = walk(query, key_pool, value_pool, table, length, scale)
    return output / total[:, None], largest + total.log()


def zero_for_nothing(query, key_pool, value_pool, table, length, scale=None):
    if length == 0:
        return torch.zeros(query.shape[0], value_pool.shape[-1]), torch.zeros(query.shape[0])
    return nan_for_nothing(query, key_pool, value_pool, table, length, scale)
