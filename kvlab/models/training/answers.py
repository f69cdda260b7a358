"""Let the model answer: a list of chats in, texts and token counts out. Greedy, or sampled with a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

CAP = 512  # no answer in the evaluation may be longer
BATCH = 32


@dataclass(frozen=True)
class Answer:
    """What came out: `tokens` counts the end token, `ended` says whether there was one before the cap."""

    text: str
    prompt: int
    tokens: int
    ended: bool


Message = dict[str, str]


def _read(tokenizer: Any, prompt: list[int], row: list[int]) -> Answer:
    ended = tokenizer.eos_token_id in row
    tokens = row.index(tokenizer.eos_token_id) + 1 if ended else len(row)
    return Answer(tokenizer.decode(row[:tokens], skip_special_tokens=True), len(prompt), tokens, ended)


@torch.inference_mode()
def _batch(model: Any, tokenizer: Any, prompts: list[list[int]], temperature: float, cap: int) -> list[Answer]:
    longest = max(map(len, prompts))
    ids = torch.tensor([[tokenizer.pad_token_id] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    how = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
    out = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=cap, **how)
    return [_read(tokenizer, prompt, row[longest:].tolist()) for prompt, row in zip(prompts, out, strict=True)]


def answer(
    model: Any, tokenizer: Any, chats: list[list[Message]], temperature: float = 0.0, seed: int = 0, cap: int = CAP,
) -> list[Answer]:
    """An answer for each chat, whose last message is the customer's. Same seed, same answers."""
    prompts = [tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False) for chat in chats]
    torch.manual_seed(seed)
    return [each for group in _groups(prompts) for each in _batch(model, tokenizer, group, temperature, cap)]


def _groups(prompts: list[list[int]]) -> Iterator[list[list[int]]]:
    for start in range(0, len(prompts), BATCH):
        yield prompts[start : start + BATCH]
