"""A loop of a few lines that runs rows on a `PagedModel`, so that the bridge is tested without the engine."""

from __future__ import annotations

import random

import torch

from kvlab.memory import BlockManager
from kvlab.serve.batch import Row
from kvlab.serve.hf import PagedModel


def shuffled(num_blocks: int, block_size: int, seed: int) -> BlockManager:
    """A manager whose pool hands out blocks in a random order, because they were freed in one."""
    manager = BlockManager(num_blocks, block_size)
    order = list(range(num_blocks))
    for block in order:
        manager.admit(block, block_size)
    random.Random(seed).shuffle(order)
    for block in order:
        manager.free(block)
    return manager


def decode(
    paged: PagedModel, manager: BlockManager, prompts, new: int, chunk: int | None = None, stagger: int = 0, logits=None
):
    """Greedy tokens for each prompt. chunk: prompt tokens a step, or all. stagger: steps from one start to the next."""
    tokens = [list(ids) for ids in prompts]
    done = [0] * len(tokens)
    for step in range(10_000):
        rows, running = [], []
        for i, ids in enumerate(tokens):
            if step < i * stagger or len(ids) == len(prompts[i]) + new:
                continue
            take = min(len(ids) - done[i], chunk or len(ids))
            if not done[i]:
                manager.admit(i, 0)
            slots = manager.extend(i, take)
            stop = done[i] + take
            rows.append(Row(ids[done[i] : stop], done[i], manager.table(i), slots, stop == len(ids)))
            running.append(i)
            done[i] = stop
        if not rows and all(len(ids) == len(given) + new for ids, given in zip(tokens, prompts, strict=True)):
            break
        found = paged.run(rows) if rows else torch.zeros(0, 1)
        sampled = [i for i, row in zip(running, rows, strict=True) if row.wants_logits]
        for i, scores in zip(sampled, found, strict=True):
            if logits is not None:
                logits[i].append(scores)
            tokens[i].append(int(scores.argmax()))
    manager.check()
    return [ids[len(given) :] for ids, given in zip(tokens, prompts, strict=True)]
