"""Conversations as tensors: token ids, and which of them the model has to predict."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import torch
from transformers import PreTrainedTokenizerFast

from kvlab.models.training.conversations import Chat

IGNORED = -100  # a target that torch's cross-entropy skips
LONGEST = 896


def encode(chat: Chat, tokenizer: PreTrainedTokenizerFast) -> tuple[list[int], list[int]]:
    """`(ids, targets)` of a chat, targets shifted by one: answers and their ends are predicted, the rest is ignored."""
    ids: list[int] = []
    wanted: list[bool] = []
    rows = chat.messages()
    texts = [f"<|{row['role']}|>{row['content']}<|end|>" for row in rows]
    pieces = tokenizer.backend_tokenizer.encode_batch(texts)  # several times as fast as calling the tokenizer
    for row, piece in zip(rows, pieces, strict=True):
        ids += piece.ids
        wanted += [False, *[row["role"] == "assistant"] * (len(piece.ids) - 1)]
    targets = [token if want else IGNORED for token, want in zip(ids, wanted, strict=True)]
    return ids, [*targets[1:], IGNORED]


def pad(rows: list[tuple[list[int], list[int]]], pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """`[batch, longest]` ids and targets, padded on the right, where causal attention needs no mask."""
    longest = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([row + [pad_id] * (longest - len(row)) for row, _ in rows])
    return ids, torch.tensor([row + [IGNORED] * (longest - len(row)) for _, row in rows])


def _split(rows: list[tuple[list[int], list[int]]], tokens: int) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Rows of similar length, together at most `tokens` with their padding."""
    batch: list[tuple[list[int], list[int]]] = []
    for row in sorted(rows, key=lambda row: len(row[0])):
        if batch and len(row[0]) * (len(batch) + 1) > tokens:
            yield batch
            batch = []
        batch.append(row)
    if len(batch) > 1:  # a batch of one would be a shape of its own to the compiler
        yield batch


def batches(
    tokenizer: PreTrainedTokenizerFast, stream: Iterator[Chat], tokens: int, pool: int = 512,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches without end: `pool` conversations at a time, sorted by length, cut into batches, and shuffled."""
    rows = (encode(chat, tokenizer) for chat in stream)
    short = (row for row in rows if len(row[0]) <= LONGEST)
    r = Random(0)
    while True:
        groups = list(_split(list(islice(short, pool)), tokens))
        r.shuffle(groups)
        yield from (pad(group, tokenizer.pad_token_id) for group in groups)
