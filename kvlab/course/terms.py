"""`glossary("block table")`: what a term of the course means, or an invariant such as "I3" says.

Both are in glossary.txt, one a line; the invariants at its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kvlab.course import registry
from kvlab.course.say import paragraph, say
from kvlab.course.shorten import clip

_FILE = Path(__file__).with_name("glossary.txt")


@dataclass(frozen=True)
class Term:
    """A term: its names, the first of which is shown; the lab that introduces it; its meaning in two sentences at
    most."""

    names: tuple[str, ...]
    lab: str
    text: str

    @property
    def number(self) -> int:
        """3 for invariant I3; 0 for a word."""
        name = self.names[0]
        return int(name[1:]) if name[0] == "I" and name[1:].isdigit() else 0


@cache
def every() -> tuple[Term, ...]:
    """Every term, in alphabetical order, and then every invariant, by its number."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    fields = [[part.strip() for part in line.split("|", 2)] for line in lines if line.strip()]
    found = [Term(tuple(name.strip() for name in names.split(",")), lab, text) for names, lab, text in fields]
    return tuple(sorted(found, key=lambda term: (term.number, term.names[0].lower())))


def find(name: str) -> Term | None:
    """The term of that name, whatever its capitals and with or without a plural s; None if there is none."""
    wanted = _letters(name)
    known = {_letters(one): term for term in every() for one in term.names}
    return known.get(wanted) or known.get(wanted.removesuffix("s"))


def _letters(name: str) -> str:
    return " ".join(name.lower().replace("-", " ").replace("_", " ").split())


def glossary(term: str | None = None) -> None:
    """Prints what `term` means and which lab introduces it, and all invariants for "invariants"; without a term, those
    there are, lab by lab."""
    if term is None:
        for lab in sorted({one.lab for one in every()}):
            say(paragraph(", ".join(one.names[0] for one in every() if one.lab == lab), f"Lab {lab}: "))
        return
    found = find(str(term))
    if found is None:
        near = registry.suggestion(str(term), (name for one in every() for name in one.names))
        say(f"{clip(str(term), 40)} is not in the glossary.{near or ' glossary() lists what is.'}")
        return
    for one in (found, *(_invariants() if found.names[0] == "invariant" else ())):
        say(paragraph(f"{one.names[0]}: {one.text} (Lab {one.lab})"))


def _invariants() -> list[Term]:
    return [term for term in every() if term.number]


def document() -> str:
    """The glossary as Markdown: the words, and then the invariants."""
    head = ["# Glossary", "",
            "The words of the course and, below, its invariants, each with the lab that introduces it. In a notebook,",
            '`glossary("block table")` and `glossary("invariants")` say the same. Made by `kvlab guide --write` from',
            "`kvlab/course/glossary.txt`.", ""]
    words = [_entry(term) for term in every() if not term.number]
    middle = ["", "## Invariants", "",
              "They hold after every operation. Checks and error messages name them by their numbers.", ""]
    return "\n".join([*head, *words, *middle, *map(_entry, _invariants())]) + "\n"


def _entry(term: Term) -> str:
    others = f" ({', '.join(term.names[1:])})" if term.names[1:] else ""
    return f"- **{term.names[0]}**{others}, lab {term.lab}. {term.text}"
