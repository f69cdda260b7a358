"""The rules of a lab's shape. Each takes a notebook and gives what breaks the rule, as `cell id: what`."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from nbformat import NotebookNode

from tests.labs.notebooks import cells, exercise_name, is_exercise, output_text

MAX_WORDS, MAX_EXERCISES, MAX_LINES, MAX_BYTES = 1500, 6, 12, 60_000
ALLOWED_TAGS = {"nbval-ignore-output"}
SYMBOLS = "★☆✓✗○·"
EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u203c\u2049]")
EXERCISE_LINE = re.compile(r"^(★{1,3})(☆{0,2}) · (core|extra) · (\d+) min$", re.MULTILINE)


def too_long(lab: NotebookNode) -> list[str]:
    """More words, exercises, or lines of code in a cell than a lab may have."""
    words = sum(len(cell.source.split()) for cell in cells(lab, "markdown"))
    exercises = sum(map(is_exercise, lab.cells))
    found = [f"lab: {words} words, at most {MAX_WORDS}"] if words > MAX_WORDS else []
    found += [f"lab: {exercises} exercises, at most {MAX_EXERCISES}"] if exercises > MAX_EXERCISES else []
    lengths = {cell.id: lines_of_code(cell.source) for cell in cells(lab, "code") if not is_exercise(cell)}
    return found + [
        f"{id_}: {lines} lines of code, at most {MAX_LINES}" for id_, lines in lengths.items() if lines > MAX_LINES
    ]


def lines_of_code(source: str) -> int:
    """Lines that hold code: neither blank, nor only a comment, nor part of a docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(number not in docstrings and not re.match(r"\s*(#|$)", line) for number, line in lines)


def pictures(lab: NotebookNode) -> list[str]:
    """Pictures inside Markdown text, and pictures without words for those who cannot see them."""
    found = []
    for cell in cells(lab, "markdown"):
        if "data:image" in cell.source or cell.get("attachments"):
            found.append(f"{cell.id}: a picture inside the text; draw it in a code cell, or keep it in a file")
        if re.search(r"!\[\s*\]", cell.source):
            found.append(f"{cell.id}: a picture without alt text")
        for tag in re.findall(r"<img\b[^>]*>", cell.source):
            if not re.search(r'\balt="[^"]+"', tag):
                found.append(f"{cell.id}: a picture without alt text")
    return found


def loud(notebook: NotebookNode) -> list[str]:
    """Exclamation marks and emoji in what a learner reads: prose, comments, text in the code, outputs."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"```[\s\S]*?```|`[^`\n]*`|!\[", " ", cell.source)
        else:
            text = _comments_and_strings(cell.source) + "\n" + re.sub(r"<!--|-->|<[^>]*>", " ", output_text(cell))
        found += [f"{cell.id}: {match[0]!r}" for match in re.finditer(r".{0,30}!(?!=).{0,10}", text)]
        found += [f"{cell.id}: {mark!r}" for mark in EMOJI.findall(text) if mark not in SYMBOLS]
    return found


def _comments_and_strings(source: str) -> str:
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return "\n".join(re.sub(r"![rsa](?=[:}])", "", token.string) for token in tokens if token.type in kinds)


def hidden_from_nbval(notebook: NotebookNode) -> list[str]:
    """Tags, comments and magics with which a cell could fail unseen."""
    found = []
    for cell in notebook.cells:
        found += [f"{cell.id}: the tag {tag}" for tag in set(cell.metadata.get("tags", [])) - ALLOWED_TAGS]
        if cell.cell_type == "code":
            found += [
                f"{cell.id}: {line.strip()}" for line in re.findall(r"(?m)^\s*[%!].*|^.*#\s*NBVAL_.*", cell.source)
            ]
    return found


def exercise_lines(lab: NotebookNode) -> tuple[dict[str, tuple[int, bool, int]], list[str]]:
    """Stars, core and minutes that the prose before each exercise states, by name; and exercises that lack it."""
    stated, found = {}, []
    for before, cell in zip(lab.cells, lab.cells[1:], strict=False):
        if is_exercise(cell):
            line = EXERCISE_LINE.search(before.source) if before.cell_type == "markdown" else None
            if line and len(line[1] + line[2]) == 3:
                stated[exercise_name(cell)] = (len(line[1]), line[3] == "core", int(line[4]))
            else:
                found.append(f"{cell.id}: no line such as `★★☆ · core · 10 min` in the Markdown cell before it")
    return stated, found


def order(lab: NotebookNode, number: str) -> list[str]:
    """Parts of the lab that are missing, or not in the order of the course."""
    parts = {
        "a title": r"^# ",
        "what you will be able to do": r"^## What you will be able to do",
        "open_lab": r"^open_lab\(",
        "recall": r"^recall\(",
        "predict or an exercise": r"^predict\(|^@exercise\b",
        "bug hunt": r"^## Bug hunt",
        "say it": r"^say_it\(",
        "close_lab": r"^close_lab\(",
        "read on": r"^## Read on",
    }
    skipped = ({"recall", "bug hunt"} if number == "00" else set()) | ({"bug hunt"} if number < "03" else set())
    places = {name: _first(lab, pattern) for name, pattern in parts.items() if name not in skipped}
    missing = [f"lab: no {name}" for name, place in places.items() if place is None]
    there = [(place, name) for name, place in places.items() if place is not None]
    swapped = [f"lab: {b} stands before {a}" for (i, a), (j, b) in zip(there, there[1:], strict=False) if j < i]
    last = max((index for index, cell in enumerate(lab.cells) if is_exercise(cell)), default=0)
    late = [] if last < (places["say it"] or last + 1) else ["lab: an exercise after say it"]
    return missing + swapped + late


def _first(lab: NotebookNode, pattern: str) -> int | None:
    for index, cell in enumerate(lab.cells):
        if (cell.cell_type == "markdown") == ("#" in pattern) and re.search(pattern, cell.source, re.MULTILINE):
            return index
    return None


def questions(lab: NotebookNode, number: str) -> list[str]:
    """Recall questions and predictions: three, and two or three; none without its reveal. Lab 00 has one prediction."""
    code = "\n".join(cell.source for cell in cells(lab, "code"))
    asked, found = _keys("recall", code), []
    predicted, revealed = _keys("predict", code), _keys("reveal", code)
    asked_first = [key for key in asked if "bug-hunt" not in key]
    if number != "00" and len(asked_first) != 3:
        found.append(f"lab: {len(asked_first)} recall questions, not three")
    if not (1 if number == "00" else 2) <= len(predicted) <= 3:
        found.append(f"lab: {len(predicted)} predictions")
    if predicted != revealed:
        found.append(f"lab: predicted {predicted}, revealed {revealed}")
    return found


def _keys(function: str, code: str) -> list[str]:
    return re.findall(rf'(?m)^\s*{function}\("([^"]+)"', code)
