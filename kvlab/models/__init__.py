"""The small trained model that ships with the course: how it is loaded, what it answers, and a trace of its requests.

`courier` is the folder that transformers reads, and `training` how it was made, from nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvlab.memory import Trace

if TYPE_CHECKING:
    import torch

EXAMPLE_ORDER = """You are Courier, the support assistant of a food delivery app. Answer with the facts of the order.
Order 979 from Tokyo Corner
Status: on the way
Courier: Rosa
Address: 65 School Lane
Ordered: 19:13
Promised: 19:43
Expected: 19:43
Delay: none
Promo: none
Items:
1 x Miso Soup, 9 euros (fish, soy)
1 x Salmon Roll, 13 euros (fish, nuts, soy)
Total: 22 euros"""
"""What courier is told before a customer speaks, as its training has it; this order was kept out of training."""


def courier_path() -> Path:
    """The folder of courier, in Hugging Face format: `from_pretrained` takes it as it is."""
    return Path(__file__).parent / "courier"


def load_courier(dtype: torch.dtype | None = None) -> tuple[Any, Any]:
    """`(model, tokenizer)`, ready for `generate` on the CPU, with weights of type `dtype` (`torch.float32` if None)."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with _without_bars():
        model = AutoModelForCausalLM.from_pretrained(
            courier_path(), dtype=dtype or torch.float32, local_files_only=True
        )
    return model.eval(), AutoTokenizer.from_pretrained(courier_path(), local_files_only=True)


def courier_answers(tokenizer: Any, count: int = 24, seed: int = 7) -> list[tuple[list[int], list[int]]]:
    """`count` conversations about orders that were kept out of training, with the answers courier should give.

    Each is `(ids, targets)`: token ids, and for each the token that is to follow if it is one of an answer, else -100.
    What the perplexity is taken over; the same for the same seed on every machine.
    """
    from itertools import islice

    from kvlab.models.training.batches import encode
    from kvlab.models.training.conversations import chats

    return [encode(chat, tokenizer) for chat in islice(chats(seed, held_out=True), count)]


@contextmanager
def _without_bars() -> Iterator[None]:
    """Two megabytes need no progress bar; the setting is put back as it was."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def courier_trace() -> Trace:
    """Requests that courier answered: real lengths, drawn by a real model, usable wherever a simulated trace is.

    Chats of one to four turns, sampled at T = 0.8; a prompt's segments are shared with the later turns of its chat.
    """
    return Trace.load(courier_path() / "trace.json")
