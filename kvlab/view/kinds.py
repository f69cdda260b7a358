"""What a piece of KV memory can be, and how each kind looks in every picture: a colour, a word, a hatch."""

from __future__ import annotations

PALETTE = ("#f2f2f2", "#0072B2", "#E69F00", "#009E73", "#000000")
COLOUR_NAMES = ("light grey", "blue", "orange", "green", "black")

FREE, HELD, UNUSED, LATER, HOLE = range(5)  # indices into the palette
WORDS = {
    HELD: "holds a token",
    LATER: "reserved, used later",
    UNUSED: "reserved, never used",
    HOLE: "free, but no hole fits",
    FREE: "free",
}
LAST = "the empty end of the last block"
HATCHES = {HELD: "", LATER: "///", UNUSED: "...", HOLE: "", FREE: ""}


def word_for(kind: int, policy: str) -> str:
    """What a kind is called under a policy. In "16-token blocks", or any others, nothing is reserved."""
    return LAST if kind == UNUSED and policy.endswith("blocks") else WORDS[kind]


def percent(share: float, digits: int = 1) -> str:
    """0.155 -> "15.5 %"."""
    return f"{100 * share:.{digits}f} %"


def counted(number: int, noun: str) -> str:
    """1, "block" -> "1 block"; 1200, "block" -> "1,200 blocks"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
