"""What the command says when it cannot do what was asked: a sentence, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from kvlab.errors import KVLabError


class Refused(KVLabError):
    """The command stops here. `str()` is the sentence to print; `code` the exit status: 1 failed, 2 asked wrongly, 3
    not on this machine."""

    def __init__(self, sentence: str, code: int = 1) -> None:
        super().__init__(sentence)
        self.code = code


def unknown(kind: str, name: str, known: Iterable[str], otherwise: str) -> Refused:
    """The refusal of a name that is not there: names the nearest that is, or else says `otherwise`, what to do."""
    near = difflib.get_close_matches(name.lower(), sorted(known), n=2, cutoff=0.5)
    advice = f"Did you mean {' or '.join(near)}?" if near else otherwise
    return Refused(f'There is no {kind} "{name}". {advice}', code=2)
