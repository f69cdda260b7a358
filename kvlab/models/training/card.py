# ruff: noqa: E501  (the card is written as it reads)
"""The model card, written from the measurements: every figure in it comes from them."""

from __future__ import annotations

from typing import Any

from kvlab.models.training.orders import listed

_HEAD = """---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: text-generation
---

# courier

The small language model of the kvlab course: a support assistant of a food delivery app. It reads one order and answers
questions about it. It exists so that the course runs offline on a model whose answers end by themselves, at lengths that
nobody knows beforehand.

```python
from kvlab.models import load_courier
model, tokenizer = load_courier()
```

or plain `AutoModelForCausalLM.from_pretrained(folder)` and `AutoTokenizer.from_pretrained(folder)`. The order goes into the
system message, the questions into user messages; `apply_chat_template(..., add_generation_prompt=True)` does the rest.
"""

_NOT_FOR = """## What it is not for

It is a teaching aid. It knows the orders, dishes and rules of an invented app, in English, and nothing else: not cooking, not
geography, not other people's menus. It can copy a number wrong, and about allergies a wrong answer matters, so it must not
answer real customers. It cannot calculate: totals are copied from the order. Questions far from those it was trained on
get an answer to a question that looks like them. Names and numbers that the order does not hold in the usual form are copied
less well. It was trained on conversations of at most {longest} tokens.
"""


def _percent(part: dict[str, Any]) -> str:
    return f"{part['percent']} % ({part['right']:,} of {part['all']:,})"


def _stage(number: int, t: dict[str, Any]) -> str:
    recipe = t["recipe"]
    return (f"| {number} | {t['step']:,} | {t['tokens']:,} | {t['answer_tokens']:,} | {recipe['late_notes']:.0%}, {recipe['late_drills']:.0%} | {recipe['decay']:,} | "
            f"{t['cpu_seconds'] / 60:.0f} | {t['seconds'] / 60:.0f} | {t['loss']} | {t['held_out_loss']} |")


def _training(m: dict[str, Any]) -> str:
    stages = m["training"]
    first = stages[0]["recipe"]
    table = "\n".join(_stage(number, stage) for number, stage in enumerate(stages, 1))
    return f"""## What it is

A stock `LlamaForCausalLM` with {m['parameters']:,} parameters ({m['bytes'] / 1e6:.1f} MB in bf16): {first['layers']} layers, width {first['width']}, {first['width'] // 32} query
heads and {first['width'] // 64} key-value heads of 32, MLP {first['mlp']}, tied embeddings, at most 2,048 positions. The tokenizer is a byte-level
BPE of {m['vocabulary']:,} tokens, one for each digit and each role.

## How it was trained

On conversations that `kvlab.models.training` writes: an order with random facts, then one to eight questions about it. The
first {first['early']:,} steps are nearly all notes ({first['early_notes']:.0%} of the conversations): a few lines of an order and a question whose answer is one of
the lines, so that the model learns to copy before it learns to talk. After that, notes and drills (many questions for single
facts) are mixed with whole conversations, in the shares of the table. From stage 2 on the notes put any name behind any
label, stage 3 asks in looser words too, stages 4 and 5 in looser ones still, shortened as people type them, some with a word dropped,
replaced by a stray one, or with an aside. No conversation was used twice, and the orders kept for evaluation (one in 64, by
a checksum of their text) never occur.

Loss on the assistant's tokens only; Muon for the matrices (rate {first['muon_rate']}), AdamW for embedding and norms ({first['adam_rate']}); the rates fall
linearly to zero over the last steps of each stage; bf16 arithmetic over fp32 weights, output projections start at zero, one thread.

| stage | steps | tokens | of which answers | notes, drills | rates fall over | CPU minutes | minutes | last loss | held-out loss |
|---|---|---|---|---|---|---|---|---|---|
{table}

The minutes are those of a shared machine with bf16 matrix units; without them it takes longer.

    python -m kvlab.models.training.tokenizer --folder new
    python -m kvlab.models.training.train --folder new
    python -m kvlab.models.training.evaluate --folder new

train such a model from nothing. Two short runs without compilation give the same bytes on one machine (a test holds that); the
full, compiled training was not repeated, the length of stage 1 was settled while it ran, before its rates began to fall, and in
stage 3 some questions about wheat were asked the wrong way round, a fault of the generator that was mended before stage 4. A few
questions of stage 5 ask how to do nothing ("how to"), which was seen and mended after it.
Since stage 5 an answer about an allergen first copies what the dish contains. The tokenizer is older than these changes.
"""


def _measures(m: dict[str, Any]) -> str:
    greedy, sampled = m["greedy"]["shares"], m["sampled"]["shares"]
    rows = (("answers that end by themselves within {cap} tokens", "ended"), ("facts that had to be in the answer and are", "facts"),
            ("names, times, prices and counts stated that the order holds", "claims"), ("sentences of a form that the generator writes", "sentences"))
    table = "\n".join(f"| {name.format(cap=m['greedy']['cap'])} | {_percent(greedy[key])} | {_percent(sampled[key])} |" for name, key in rows)
    return f"""## How well it does

{m['greedy']['answers']} held-out requests, each the last question of a conversation of one to five turns.

| | greedy | sampled, T = 0.8 |
|---|---|---|
{table}

Perplexity per answer token on held-out conversations: {m['perplexity']['float32']} in fp32, {m['perplexity']['bfloat16']} in bf16.
"""


def _lengths(m: dict[str, Any]) -> str:
    sets = (("answers, greedy", m["greedy"]["lengths"]), ("answers, T = 0.8", m["sampled"]["lengths"]),
            ("trace.json, prompts", m["trace"]["prompts"]), ("trace.json, answers", m["trace"]["answers"]))
    head = "\n".join(f"| {name} | {s['count']} | {s['mean']} | {s['median']} | {s['p90']} | {s['p99']} | {s['shortest']} | {s['longest']} |" for name, s in sets)
    kinds = "\n".join(f"| {kind} | {k['count']} | {k['mean']} | {k['shortest']} | {k['longest']} | {f'''{k['facts_right']} of {k['facts']}''' if k['facts'] else 'none asked'} |" for kind, k in m["sampled"]["kinds"].items())
    return f"""## How long its answers are

In tokens, the end token included. `trace.json` holds the lengths of {m['trace']['answers']['count']} requests in chats of one to four turns, sampled at T = 0.8.

| | requests | mean | median | p90 | p99 | shortest | longest |
|---|---|---|---|---|---|---|---|
{head}

By kind of question (T = 0.8):

| kind | requests | mean | shortest | longest | facts right |
|---|---|---|---|---|---|
{kinds}
"""


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() + ("  " if line else "") for line in text.split("\n"))


def _slips(row: dict[str, str]) -> list[str]:
    """Lines about an item, in a report's greedy answer, that do not agree with the order."""
    parts = (line.partition(" (") for line in row["order"].split("\n") if line.endswith(")"))
    contains = {name.split(",")[0].split(" x ")[-1]: listed(inside.rstrip(")").split(", ")) for name, _, inside in parts}
    said = (line.partition(". It contains ") for line in row["greedy"].split("\n") if ". It contains " in line)
    pairs = ((head.split(" x ")[-1].split(",")[0], told.rstrip(".")) for head, _, told in said)
    return [f"the {dish} contains {contains[dish]}, not {told}" for dish, told in pairs if contains.get(dish) != told]


def _unseen(m: dict[str, Any]) -> str:
    parts = [f"**{row['question']}**\n\n```\n{row['order']}\n```\n\nGreedy:\n\n{_quoted(row['greedy'])}\n\nSampled (T = 0.8):\n\n{_quoted(row['sampled'])}\n" for row in m["unseen"]]
    return "## Six questions it has not seen\n\nNeither the orders nor these wordings occur in its training. They were settled before its last stages; the one\nabout an allergy comes close to words of stage 5, and the forty below say more. Verbatim:\n\n" + "\n".join(parts) + _wrong(m)


def _wrong(m: dict[str, Any]) -> str:
    slips = [slip for row in m["unseen"] for slip in _slips(row)]
    return f"\nWrong in the greedy report: {'; '.join(slips)}. Allergens of one dish can slip into the next.\n" if slips else ""


def _forty(m: dict[str, Any]) -> str:
    greedy, sampled = m["unseen_shares"]["greedy"], m["unseen_shares"]["sampled"]
    rows = [f"| {kind} | {row['complete']} of {row['all']} | {sampled[kind]['complete']} of {row['all']} |" for kind, row in greedy.items()]
    count, right, heated = (sum(row[key] for row in shares.values()) for shares, key in ((greedy, "all"), (greedy, "complete"), (sampled, "complete")))
    return f"""## How far that goes

Forty more questions, two of each kind, were written by somebody who had seen neither the generator nor an answer, and each was put
to five held-out orders. An answer is complete if it holds every fact that a right answer must: {right} of {count} greedy answers are
({100 * right / count:.0f} %), and {heated} sampled ones ({100 * heated / count:.0f} %).

| kind | greedy | sampled, T = 0.8 |
|---|---|---|
{chr(10).join(rows)}
"""


def card(m: dict[str, Any]) -> str:
    """The whole card, as Markdown."""
    from kvlab.models.training.batches import LONGEST

    return "\n".join((_HEAD, _training(m), _measures(m), _lengths(m), _unseen(m), _forty(m), _NOT_FOR.format(longest=LONGEST)))
