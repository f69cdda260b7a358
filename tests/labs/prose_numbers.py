"""Every number in the prose is computed or asserted by a cell. What that means for an author:

- A figure written in Markdown must occur in the same solved notebook: in an output (any cell, rounded as you like), in
  an `assert` (any cell), or as a number in the code of the same section (a given, such as "300 tokens").
- "15.5 %" is found in 15.47 and in 0.1547, "2.3x" in 2.32, "8k" in 8192, "524,288" in 524288, "64 GiB" in 64.0.
- What `say_it`, `recall` and `hint` print is prose as well and supports nothing; model answers are checked too.
- Not looked at: code spans and blocks, links, words with a digit in them (bf16, A100-80, I3), model sizes (8B), years,
  arXiv ids, lab numbers (00 to 11), list numbers, chapters and sections, the line `★★☆ · core · 10 min`, and `GIVEN`.
- The numbers of the running example are imported from kvlab.memory, never typed into a cell: change one, and every
  figure that hangs on it follows or this check is red.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from kvlab.course.questions import SAY_IT
from tests.labs.notebooks import cells, output_text

GIVEN = {
    "80 GB": "the running example's GPU, by its name",
    "40 GB": "the GPU of the paper's measurements, by its name",
    "100,000": "how many seeds were searched for the lesson's trace; no cell repeats that search",
}
NOT_FIGURES = re.compile(
    r"""```[\s\S]*?```|`[^`\n]*`                                # code
    |(?<=\])\([^)\s]*\)|https?://\S+|<[^>]+>                  # where links go, HTML tags
    |^[^\n]*★[^\n]*$                                          # the line of an exercise
    |^\s*\d+\.\s                                              # a numbered list
    |^\#\s\d\d\s·                                             # the number in a lab's title
    |\b\d{4}\.\d{5}\b                                         # arXiv
    |\b(?:[Cc]hapters?|[Ss]ections?|[Ff]igures?|[Tt]ables?|[Ii]deas?)\s\d+(?:(?:,|\sand|\sto)\s\d+)*
    |\bLlama\s\d(?:\.\d)?|\b\d+(?:\.\d+)?B\b                  # models
    |\b(?:19[5-9]\d|20[0-2]\d)\b                             # years
    |(?<![\d.,])0\d\b|\b[Ll]abs?\s1[01]\b|^\#\s1[01]\s·      # labs, and their titles
    |\b[A-Za-z_]+[\w.-]*\d[\w.-]*                             # bf16, A100-80, OPT-13B
    """,
    re.VERBOSE | re.MULTILINE,
)
GUESSES = re.compile(r"^Your prediction:.*$|^Predicted [^\n]*?, actual", re.MULTILINE)  # a guess supports nothing
WRITTEN = re.compile(r"^(?:say_it|recall|hint)\(", re.MULTILINE)  # their outputs are prose themselves
NUMBER = re.compile(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:\s?(%|k\b))?")


def prose_numbers(text: str) -> Iterator[tuple[str, float, int, str]]:
    """(as written, value, decimals, "%", "k" or "") of each figure in a Markdown text."""
    text = NOT_FIGURES.sub(" ", text)
    for given in GIVEN:
        text = text.replace(given, " ")
    for whole, fraction, suffix in NUMBER.findall(text):
        written = whole + fraction
        yield written + suffix, float(written.replace(",", "")), max(0, len(fraction) - 1), suffix


def numbers_in(text: str) -> set[float]:
    """Every number in an output, thousands separators read or not."""
    found = re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", re.sub(r"<[^>]+>", " ", text))
    return {float(number.replace(",", "").rstrip(".")) for number in found} | {
        float(part) for number in found if "," in number for part in number.split(",") if part
    }


def literals(source: str, asserts_only: bool = False) -> set[float]:
    """Numbers in the code, sums and powers of them included, such as `64 * 2**30`."""
    tree = ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE))
    roots = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)] if asserts_only else [tree]
    plain = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
    found = set()
    for node in (child for root in roots for child in ast.walk(root) if isinstance(child, ast.BinOp | ast.Constant)):
        if all(isinstance(child, plain) for child in ast.walk(node)):
            try:
                value = eval(compile(ast.Expression(node), "cell", "eval"))
            except (TypeError, ArithmeticError):  # `"-" + 20`
                continue
            if isinstance(value, int | float):
                found.add(float(value))
    return found


def unsupported(notebook: NotebookNode) -> list[str]:
    """Figures of an executed notebook's prose that no cell computes or asserts, as `cell id: "4,096"`."""
    everywhere: set[float] = set()
    for cell in cells(notebook, "code"):
        if not WRITTEN.search(cell.source):
            everywhere |= numbers_in(GUESSES.sub(" ", output_text(cell)))
        if all(output.output_type != "error" for output in cell.outputs):  # an assertion that fails asserts nothing
            everywhere |= literals(cell.source, asserts_only=True)
    wrong = [
        f'say it: "{number[0]}"' for number in prose_numbers(model_answer(notebook)) if not _known(number, everywhere)
    ]
    for prose, code in sections(notebook):
        known = everywhere.union(*map(literals, code))
        for cell_id, text in prose:
            wrong += [f'{cell_id}: "{number[0]}"' for number in prose_numbers(text) if not _known(number, known)]
    return wrong


def model_answer(notebook: NotebookNode) -> str:
    """The model answers that the lab's "say it" shows; prose, though it stands in kvlab/course/questions/."""
    code = "\n".join(cell.source for cell in cells(notebook, "code"))
    asked = re.findall(r'(?m)^say_it\("([\w-]+)"', code)
    return "\n".join(said.model for said in SAY_IT if said.lab in asked)


def sections(notebook: NotebookNode) -> list[tuple[list[tuple[str, str]], list[str]]]:
    """The notebook from one heading to the next: ([(cell id, Markdown), ...], [code, ...])."""
    found: list[tuple[list[tuple[str, str]], list[str]]] = [([], [])]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            found[-1][1].append(cell.source)
        elif cell.cell_type == "markdown":
            before, *headed = re.split(r"(?m)^(?=##? )", cell.source)
            found[-1][0].append((cell.id, before))
            found += [([(cell.id, text)], []) for text in headed]
    return found


def _known(number: tuple[str, float, int, str], known: set[float]) -> bool:
    written, value, decimals, suffix = number
    scales = {"%": (1, 0.01), "k": (1000, 1024)}.get(suffix, (1,))
    digits = len(str(int(value))) + decimals
    for scale in scales:
        half = scale * 0.5 * 10**-decimals if digits > 1 else 0.0  # a single digit is not a rounded figure
        half = 500.0 if value >= 100_000 and written.endswith(",000") else half  # "about 524,000"
        if any(abs(other - value * scale) <= half * (1 + 1e-9) + 1e-12 for other in known):
            return True
    return False
