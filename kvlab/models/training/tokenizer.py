"""courier's tokenizer: a byte-level BPE learned from our own conversations, one token for each digit and each role."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from kvlab.models import courier_path
from kvlab.models.training.conversations import chats

VOCABULARY = 1280
PAD, SYSTEM, USER, ASSISTANT, END = SPECIAL = ("<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
POSITIONS = 2048
#: Single digits; words with the colon of a label, so that what follows `Courier:` is preceded by a token of its own.
PIECES = r" ?\d| ?[A-Za-z]+:?| ?[^\sA-Za-z\d]+|\n+|\s"


def learn(conversations: int = 6000, seed: int = 1) -> Tokenizer:
    """The tokenizer learned from so many training conversations."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PIECES), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=list(SPECIAL), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    texts = (row["content"] for chat in islice(chats(seed), conversations) for row in chat.messages())
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def wrapped(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer as transformers uses it, with the chat template."""
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, additional_special_tokens=[SYSTEM, USER, ASSISTANT],
        model_max_length=POSITIONS, clean_up_tokenization_spaces=False, padding_side="left",
    )
    fast.chat_template = TEMPLATE
    return fast


def main() -> None:
    """Learn the tokenizer and save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=courier_path())
    folder: Path = parser.parse_args().folder
    wrapped(learn()).save_pretrained(folder)


if __name__ == "__main__":
    main()
