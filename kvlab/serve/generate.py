"""`kvlab generate`: one answer from any local or hub model, on paged memory, printed as it comes."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

import kvlab
from kvlab.errors import KVLabError, UsageError
from kvlab.memory import blocks_needed

from .detokenize import Detokenizer
from .engine import Engine
from .hf_support import max_positions
from .sampling import Sampling

BLOCK_SIZE = 16
DEFAULT_NEW_TOKENS = 256  # when the caller names no limit
MOST_AT_ONCE = 256  # answers to one prompt
SHIPPED = Path(kvlab.__file__).parent / "models"


class NoModel(KVLabError):
    """A model or its tokenizer could not be loaded: the sentence says what was looked for."""


@contextmanager
def reachable(name: str) -> Iterator[str]:
    """What transformers is to load for `name`: a folder, a model that ships with kvlab, or a hub id.

    What goes wrong while it loads becomes `NoModel`.
    """
    shipped = SHIPPED / name
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield str(shipped) if (shipped / "config.json").exists() else name
    except (OSError, ValueError, KeyError, ImportError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise NoModel(f'no model "{name}" could be loaded as a folder or from the hub: {first}') from error


def load(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Model and tokenizer of a folder, of a model that ships with kvlab, or of a hub id. On the CPU in fp32."""
    gpu = torch.cuda.is_available()
    with reachable(name) as source:
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModelForCausalLM.from_pretrained(source, dtype="auto" if gpu else torch.float32)
    torch.nn.Module.to(model, "cuda" if gpu else "cpu")
    return model.eval(), tokenizer


def encode(tokenizer: PreTrainedTokenizerBase, prompt: str, raw: bool = False) -> list[int]:
    """Token ids of a prompt: the user's turn of a chat if the tokenizer has a template, unless `raw`."""
    if raw or not tokenizer.chat_template:
        return list(tokenizer(prompt)["input_ids"])
    return encode_chat(tokenizer, [{"role": "user", "content": prompt}])


def encode_chat(tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, str]]) -> list[int]:
    """Token ids of a chat, up to where the model's turn begins. messages: `role` and `content` of each."""
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return list(tokenizer(str(text), add_special_tokens=False)["input_ids"])


def stream_text(tokenizer: PreTrainedTokenizerBase, tokens: Iterable[int]) -> Iterator[str]:
    """Pieces of text as tokens come; see `Detokenizer`."""
    detokenizer = Detokenizer(tokenizer)
    yield from map(detokenizer.push, tokens)
    yield detokenizer.finish()


def generate(
    model: PreTrainedModel, ids: list[int], max_new_tokens: int | None = None, sampling: Sampling | None = None
) -> Iterator[int]:
    """Token ids of one answer, as they come, from a pool just large enough. By default, all there is room for."""
    engine, max_new_tokens = _engine(model, ids, max_new_tokens)
    yield from engine.stream(engine.submit(ids, max_new_tokens, sampling or Sampling()))


def _engine(
    model: PreTrainedModel, ids: list[int], max_new_tokens: int | None, branches: int = 1
) -> tuple[Engine, int]:
    """An engine for so many answers, and how many tokens each may get."""
    room = max_positions(model.config) or math.inf
    if max_new_tokens is None:
        max_new_tokens = int(max(1, min(DEFAULT_NEW_TOKENS, room - len(ids))))
    most = int(max(1, min(len(ids) + max_new_tokens, room)))  # the engine refuses more: no memory is asked for it
    branches = min(max(1, branches), MOST_AT_ONCE)
    engine = Engine(model, branches * blocks_needed(most, BLOCK_SIZE), BLOCK_SIZE, max_running=MOST_AT_ONCE)
    return engine, max_new_tokens


def answers(
    model: PreTrainedModel,
    ids: list[int],
    max_new_tokens: int | None,
    sampling: Sampling,
    n: int | None,
    beams: int | None,
) -> list[list[int]]:
    """Token ids of `n` sampled answers, or with `beams` of the `n` best that a search of that width finds."""
    branches = n or 1 if beams is None else beams
    engine, max_new_tokens = _engine(model, ids, max_new_tokens, branches)
    if beams is not None:
        search = engine.beam(ids, beams, max_new_tokens, num_return=1 if n is None else n)
        engine.run()
        return [hypothesis.tokens for hypothesis in search.hypotheses]
    samples = engine.sample(ids, 1 if n is None else n, max_new_tokens, sampling)
    engine.run()
    return [sample.tokens for sample in samples.best]


def main(options: argparse.Namespace) -> int:
    """Print the answer to `options.prompt` as it is generated. What cannot be done raises a `KVLabError` that says so.

    options: prompt, model, max_new_tokens (None: as many as there is room for), temperature, top_k, top_p, seed, raw;
    n and beams (None: one answer, as it comes).
    """
    sampling = Sampling(options.temperature, options.top_k, options.top_p, options.seed)
    prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
    model, tokenizer = load(options.model)
    ids = encode(tokenizer, prompt, options.raw)
    if options.n is None and options.beams is None:
        for piece in stream_text(tokenizer, generate(model, ids, options.max_new_tokens, sampling)):
            print(piece, end="", flush=True)
        print()
        return 0
    if options.beams is not None and not sampling.greedy:
        raise UsageError("a beam search does not sample: --beams goes without --temperature")
    found = answers(model, ids, options.max_new_tokens, sampling, options.n, options.beams)
    for number, tokens in enumerate(found, 1):
        label = f"{number}: " if len(found) > 1 else ""
        print(label + str(tokenizer.decode(tokens, skip_special_tokens=True)))
    return 0
