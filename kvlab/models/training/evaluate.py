"""Measure courier and write measurements.json, trace.json and the model card beside its weights."""

from __future__ import annotations

import argparse
import json
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from kvlab.memory import Trace
from kvlab.models import courier_path
from kvlab.models.training import trace, unseen
from kvlab.models.training.answers import answer
from kvlab.models.training.card import card
from kvlab.models.training.conversations import Chat, chats, draw_chat
from kvlab.models.training.measure import lengths, perplexity, summary

TEMPERATURE = 0.8
Figures = dict[str, Any]


def held_out_chats(count: int, seed: int) -> list[Chat]:
    """Held-out conversations of one to five turns; the last question is the one to answer."""
    r = Random(seed)
    return [draw_chat(r, held_out=True) for _ in range(count)]


def requests(held_out: list[Chat]) -> list[list[dict[str, str]]]:
    """Each chat up to its last question."""
    return [chat.messages()[:-1] for chat in held_out]


def measured(model: Any, tokenizer: Any, held_out: list[Chat], temperature: float, seed: int) -> Figures:
    """The model's answers to the last question of each chat, summed up."""
    answers = answer(model, tokenizer, requests(held_out), temperature, seed)
    return summary([chat.turns[-1] for chat in held_out], [chat.system for chat in held_out], answers)


def measure(folder: Path, count: int, seed: int) -> tuple[Figures, Trace]:
    """`(measurements, trace)` of the model in `folder`, over `count` held-out requests."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    load = AutoModelForCausalLM.from_pretrained
    model, rounded = (load(folder, dtype=each).eval() for each in (torch.float32, torch.bfloat16))
    held_out = held_out_chats(count, seed)
    texts = list(islice(chats(seed + 1, held_out=True), 400))
    drawn = trace.draw(model, tokenizer)
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "bytes": (folder / "model.safetensors").stat().st_size,
        "vocabulary": len(tokenizer),
        "training": json.loads((folder / "training.json").read_text(encoding="utf-8")),
        "perplexity": {
            "float32": round(perplexity(model, tokenizer, texts), 4),
            "bfloat16": round(perplexity(rounded, tokenizer, texts), 4),
        },
        "greedy": measured(model, tokenizer, held_out, 0.0, seed),
        "sampled": measured(model, tokenizer, held_out, TEMPERATURE, seed),
        "unseen": unseen.six(model, tokenizer, TEMPERATURE),
        "unseen_shares": {
            name: unseen.complete(model, tokenizer, heat) for name, heat in (("greedy", 0.0), ("sampled", TEMPERATURE))
        },
        "trace": {
            "prompts": lengths([request.prompt for request in drawn]),
            "answers": lengths([request.answer for request in drawn]),
        },
    }, drawn


def main() -> None:
    """Measure, then write the three files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=courier_path())
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=2024)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    figures, drawn = measure(chosen.folder, chosen.count, chosen.seed)
    (chosen.folder / "measurements.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (chosen.folder / "README.md").write_text(card(figures), encoding="utf-8")
    drawn.save(chosen.folder / "trace.json")


if __name__ == "__main__":
    main()
