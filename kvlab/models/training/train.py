"""Train courier: Muon for matrices, AdamW for the rest, loss on the answers only. One seed, one thread, one result."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from kvlab.models import courier_path
from kvlab.models.training.batches import IGNORED, batches
from kvlab.models.training.conversations import chats
from kvlab.models.training.model import held_out_loss, loss_of, new_model, save
from kvlab.models.training.recipe import STAGES, Recipe


def optimizers(model: LlamaForCausalLM, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al. 2024) for the matrices inside the layers, AdamW for the tied embedding and the norms."""
    inside = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and "embed" not in name]
    others = [weight for name, weight in model.named_parameters() if weight.ndim != 2 or "embed" in name]
    tuned: list[torch.optim.Optimizer] = [
        torch.optim.Muon(inside, lr=recipe.muon_rate, momentum=0.95, weight_decay=0.01),
        torch.optim.AdamW(others, lr=recipe.adam_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    for optimizer in tuned:
        optimizer.param_groups[0]["highest"] = optimizer.param_groups[0]["lr"]
    return tuned


def data(tokenizer: PreTrainedTokenizerFast, recipe: Recipe) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The batch of each step: many notes and drills at first, then mostly whole conversations."""
    early = chats(1000 * recipe.seed + 1, drills=recipe.early_drills, notes=recipe.early_notes)
    late = chats(1000 * recipe.seed + 2, drills=recipe.late_drills, notes=recipe.late_notes, hard=recipe.hard)
    yield from islice(batches(tokenizer, early, recipe.batch_tokens), recipe.early)
    yield from batches(tokenizer, late, recipe.batch_tokens)


def _update(tuned: list[torch.optim.Optimizer], share: float) -> None:
    """One step of every optimizer at `share` of its highest rate."""
    for optimizer in tuned:
        for group in optimizer.param_groups:
            group["lr"] = group["highest"] * share
        optimizer.step()
        optimizer.zero_grad()


def _note(folder: Path, earlier: list[dict[str, Any]], recipe: Recipe, **figures: float) -> None:
    """Print how far it is, and keep the figures beside the weights for the model card."""
    print("  ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
    text = json.dumps([*earlier, figures | {"recipe": asdict(recipe)}], indent=1)
    (folder / "training.json").write_text(text + "\n", encoding="utf-8")


def _begin(recipe: Recipe, folder: Path, go_on: bool) -> tuple[LlamaForCausalLM, list[dict[str, Any]]]:
    """A new model, or the one in `folder`; and what is known about its earlier stages."""
    model = new_model(recipe, PreTrainedTokenizerFast.from_pretrained(folder))
    model.set_attn_implementation("courier_training")
    if not go_on:
        return model, []
    load_model(model, folder / "model.safetensors")
    return model, json.loads((folder / "training.json").read_text(encoding="utf-8"))


def train(recipe: Recipe, folder: Path, go_on: bool = False, report_every: int = 400) -> LlamaForCausalLM:
    """Run one stage with the tokenizer in `folder`, from its weights if `go_on`; save there at the end and before."""
    with _reproducible():
        return _trained(recipe, folder, go_on, report_every)


@contextmanager
def _reproducible() -> Iterator[None]:
    """One thread and one order of sums, so that a seed gives the same weights; all put back afterwards."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.set_flush_denormal(True)  # projections that start at zero make tiny numbers, which are slow
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.use_deterministic_algorithms(deterministic)
        torch.set_num_threads(threads)


def _trained(recipe: Recipe, folder: Path, go_on: bool, report_every: int) -> LlamaForCausalLM:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    model, earlier = _begin(recipe, folder, go_on)
    body = torch.compile(model.model, dynamic=True) if recipe.compile else None
    tuned = optimizers(model, recipe)
    start, cpu, tokens, answers = time.time(), time.process_time(), 0, 0
    for step, (ids, targets) in enumerate(islice(data(tokenizer, recipe), recipe.steps), 1):
        loss = loss_of(model, ids, targets, body)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        _update(tuned, recipe.rate(step - 1))
        tokens, answers = tokens + ids.numel(), answers + int((targets != IGNORED).sum())
        if step % report_every == 0 or step == recipe.steps:
            _note(folder, earlier, recipe, step=step, seconds=round(time.time() - start),
                  cpu_seconds=round(time.process_time() - cpu), tokens=tokens, answer_tokens=answers,
                  loss=round(loss.item(), 4), held_out_loss=round(held_out_loss(model, tokenizer), 4))
            save(model, folder)
    return model


def main() -> None:
    """Run all stages, or those from `--first` on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=courier_path())
    parser.add_argument("--first", type=int, default=0, help="stage to begin with; the earlier ones are done")
    chosen = parser.parse_args()
    for number, recipe in enumerate(STAGES[chosen.first :], chosen.first):
        train(recipe, chosen.folder, go_on=number > 0)


if __name__ == "__main__":
    main()
