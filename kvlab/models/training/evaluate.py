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

from kvlab.models import courier_path
from kvlab.models.training import trace
from kvlab.models.training.answers import answer
from kvlab.models.training.card import card
from kvlab.models.training.conversations import Chat, chats, draw_chat
from kvlab.models.training.measure import lengths, perplexity, summary
from kvlab.models.training.orders import INTRO, draw_order

TEMPERATURE = 0.8
Figures = dict[str, Any]
#: questions in words that the generator cannot write; {fields} are those of the order they are asked about
UNSEEN = (
    "Who is riding over with my dinner?",
    "It has been ages. Where did my order end up?",
    "The {dish} never made it into the bag.",
    "My son cannot have {allergen}. Is the {dish} all right for him?",
    "How would I put another card into the app?",
    "Please put together a complete report about what I ordered.",
)


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


def unseen(model: Any, tokenizer: Any, seed: int = 23) -> list[dict[str, str]]:
    """The six questions about six held-out orders, each answered greedily and sampled."""
    r = Random(seed)
    rows = []
    for question in UNSEEN:
        order = draw_order(r, held_out=True)
        item = order.items[0]
        asked = question.format(dish=item.dish, allergen=(*item.contains, "nuts")[0])
        chat = [{"role": "system", "content": f"{INTRO}\n{order}"}, {"role": "user", "content": asked}]
        greedy, sampled = (answer(model, tokenizer, [chat], heat, seed)[0].text for heat in (0.0, TEMPERATURE))
        rows.append({"order": str(order), "question": asked, "greedy": greedy, "sampled": sampled})
    return rows


def measure(folder: Path, count: int, seed: int) -> tuple[Figures, Figures]:
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
        "unseen": unseen(model, tokenizer),
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
