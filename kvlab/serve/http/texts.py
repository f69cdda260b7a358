"""Prompts as tokens, and tokens as text and bytes."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from kvlab.serve.detokenize import INCOMPLETE
from kvlab.serve.generate import encode, encode_chat

from .refusals import Refusal

BYTES = {sign: byte for byte, sign in bytes_to_unicode().items()}  # how byte-level vocabularies write them
BYTE = re.compile("<0x([0-9A-F]{2})>")  # and how others do
SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # what a space is in the vocabulary of SentencePiece


class Texts:
    """A tokenizer, of its own: one that is used by two threads at once may refuse to work."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = copy.deepcopy(tokenizer)
        self._known: dict[int, tuple[str, bytes]] = {}

    def prompt(self, prompt: str | list[int]) -> list[int]:
        """Token ids of a prompt as it is, without a chat template."""
        return encode(self._tokenizer, prompt, raw=True) if isinstance(prompt, str) else prompt

    def chat(self, messages: list[dict[str, str]]) -> list[int]:
        """Token ids of a chat. `Refusal` if the model's template has no place for it, or there is no template."""
        if not self._tokenizer.chat_template:
            raise Refusal(400, "This model has no chat template: ask /v1/completions instead.")
        try:
            return encode_chat(self._tokenizer, messages)
        except TemplateError as error:
            sentence = f"The model's chat template refuses these messages: {error}."
            raise Refusal(400, sentence, param="messages") from None

    def text(self, ids: Sequence[int]) -> str:
        """What these tokens say, special ones left out."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def token(self, token: int) -> tuple[str, bytes]:
        """A single token's text, or the bytes in words where they make no text alone; and its bytes."""
        if token not in self._known:
            self._known[token] = self._look_up(token)
        return self._known[token]

    def _look_up(self, token: int) -> tuple[str, bytes]:
        name = str(self._tokenizer.convert_ids_to_tokens(token) or "")
        text = str(self._tokenizer.decode([token], skip_special_tokens=False))
        if name.startswith(SPACE) and not text.startswith(" "):
            text = " " + text
        if INCOMPLETE not in text:
            return text, text.encode()
        single = BYTE.fullmatch(name)
        if single is None and not all(sign in BYTES for sign in name):
            return text, text.encode()
        found = bytes([int(single[1], 16)]) if single else bytes(BYTES[sign] for sign in name)
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in found), found
