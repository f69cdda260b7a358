"""What every exercise of the course must satisfy. Each gate is given one declaration and asserts one thing.

`test_course_gates.py` runs them over the registry, so that whoever declares an exercise adds nothing here. While
writing one, try it by itself:  pytest tests/course/test_course_gates.py -k blocks_needed
"""

from __future__ import annotations

import ast
import inspect
import resource
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kvlab.course import notebooks, registry
from kvlab.course.declare import Cases, Exercise
from kvlab.course.judge import judge
from kvlab.course.source import plain
from kvlab.course.verdict import FAILED, PASSED, Verdict
from tests.course.cells import Notebook, fits

SECONDS = 2.0  # of processor time that a check may take
KERNEL_SECONDS = 4.0  # the same where Triton's interpreter runs


def finished_part_passes(entry: Exercise) -> None:
    """The finished part stands every check, within the time that a check may take."""
    before, finished = children_seconds(), registry.part_of(entry)
    verdict = judge(entry, finished)
    assert verdict.status == PASSED, verdict.text
    assert fits(verdict.text)
    limit = KERNEL_SECONDS if is_kernel(finished) else SECONDS
    assert children_seconds() - before < limit, f"the check of {entry.name} is too slow"


def is_kernel(part: Any) -> bool:
    """Whether a part is a Triton kernel."""
    return not isinstance(part, type) and hasattr(part, "fn")


def children_seconds() -> float:
    """Processor time that the ended children of this process took, the forked checks among them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def mistake_is_rejected_with_its_own_message(entry: Exercise, index: int) -> None:
    """Mistake number `index` fails, the verdict says its own sentence in full, and it is said to the learner alone."""
    mistake = entry.mistakes[index]
    verdict = judge(entry, mistake.code)
    assert verdict.status == FAILED, f"{mistake.code.__name__} passes"
    said = " ".join(verdict.text.split())
    assert " ".join(mistake.says.split()) in said, f"{mistake.code.__name__} is not recognised, or cut:\n{verdict.text}"
    assert fits(verdict.text), verdict.text


def texts_are_complete(entry: Exercise) -> None:
    """Three hints, five mistakes with messages of their own, and names that can be found."""
    assert len(entry.hints) == 3 and all(map(str.strip, entry.hints)), "three hints: a question, the idea, nearly code"
    assert entry.hints[0].rstrip().endswith("?"), "the first hint is a question"
    assert len(entry.mistakes) >= 5, f"{len(entry.mistakes)} known mistakes, at least five are wanted"
    assert len({mistake.says for mistake in entry.mistakes}) >= 4, "too many mistakes say the same"
    assert entry.name.isidentifier() and entry.lab in registry.TITLES and 1 <= entry.stars <= 3
    assert len({check.name for check in entry.checks}) == len(entry.checks)
    said = [*entry.hints, *(mistake.says for mistake in entry.mistakes)]
    assert not [text for text in said if "!" in text.replace("!=", "")], "no exclamation marks"


def solution_passes(entry: Exercise) -> None:
    """The solved cell of the lab's notebook passes, run after the imports and the exercises before it."""
    found = list(notebooks.cells("solutions", entry.lab))
    assert found, f"lab {entry.lab} has no solved notebook"
    notebook, said = Notebook(), None
    for cell in found:
        if f"\ndef {entry.name}(" in "\n" + cell or f"\nclass {entry.name}" in "\n" + cell:
            said = notebook.run(cell)
            break
        notebook.run(_imports(cell))
        notebook.names.update({other.name: registry.part_of(other) for other in registry.of_lab(entry.lab)})
    assert said is not None, f"no cell of lab {entry.lab} defines {entry.name}"
    assert f"✓ {entry.name}:" in said, said


def _imports(cell: str) -> str:
    try:
        nodes = ast.parse(cell).body
    except SyntaxError:
        return ""
    return "\n".join(ast.unparse(node) for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))


def handed_out_is_not_attempted(entry: Exercise) -> None:
    """The cell of the student notebook, as it is handed out, is "not attempted"."""
    for cell in notebooks.cells("labs", entry.lab):
        if f"\ndef {entry.name}(" in "\n" + cell or f"\nclass {entry.name}" in "\n" + cell:
            said = _with_triton(entry).run(cell)
            assert said.startswith(f"○ {entry.name}: not attempted."), said
            return
    raise AssertionError(f"no cell of the student notebook of lab {entry.lab} defines {entry.name}")


PLACEHOLDERS = ("...", "pass", "raise NotImplementedError", "raise NotImplementedError('later')",
                '"""Only a docstring."""', '"""A docstring."""\n...')


def untouched_is_not_attempted(entry: Exercise) -> None:
    """Each way of leaving the bodies empty is "not attempted", and the name goes to the finished part."""
    for body in PLACEHOLDERS:
        notebook = _with_triton(entry)
        said = notebook.exercise(emptied(entry, body))
        assert said.startswith(f"○ {entry.name}: not attempted."), f"{body}: {said}"
        assert notebook.names[entry.name] is registry.part_of(entry)


def raising_passes_nothing(entry: Exercise) -> None:
    """`raise` in every body is wrong: the finished part is not checked in its place."""
    for body in ("raise", "raise ValueError('no')", "raise SystemExit"):
        notebook = _with_triton(entry)
        said = notebook.exercise(emptied(entry, body))
        assert said.startswith(f"✗ {entry.name}") and fits(said), said


def _with_triton(entry: Exercise) -> Notebook:
    """A notebook in which a kernel's cell can be run."""
    notebook = Notebook()
    if is_kernel(registry.part_of(entry)):
        notebook.run("import triton\nimport triton.language as tl")
    return notebook


def emptied(entry: Exercise, body: str) -> str:
    """The finished part's source with `body` in place of every body, and the exercise's name. A kernel stays one."""
    part = registry.part_of(entry)
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(plain(part))))
    definition: Any = tree.body[0]
    definition.name = entry.name
    definition.decorator_list = [ast.parse("triton.jit", mode="eval").body] if is_kernel(part) else []
    if isinstance(definition, ast.ClassDef):
        definition.bases, definition.keywords = [], []
        definition.body = [node for node in definition.body if isinstance(node, ast.FunctionDef)]
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef):
            node.body, node.returns = ast.parse(body).body, None
            node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                argument.annotation = None
    return ast.unparse(ast.fix_missing_locations(tree))


def odd_results_are_told_kindly(entry: Exercise) -> None:
    """Wrong types and odd objects never pass, and never give a traceback, a ninth line or a long one."""
    for name, part in odd_parts(entry):
        verdict = judge(entry, part)
        assert verdict.status == FAILED, f"{entry.name} accepts {name}"
        assert_is_a_kind_verdict(verdict)


def assert_is_a_kind_verdict(verdict: Verdict) -> None:
    """At most 8 lines of 110 characters without a traceback; what help_me() shows has none either."""
    assert fits(verdict.text), verdict.text
    assert "Traceback" not in verdict.details and max(map(len, verdict.details.splitlines() or [""])) <= 110


def odd_parts(entry: Exercise) -> Iterator[tuple[str, Any]]:
    """Parts that give odd results: always the same object, or the right result in the wrong form."""
    finished = registry.part_of(entry)
    for name, make in ODD.items():
        yield name, _class_of(finished, make) if isinstance(finished, type) else _function_of(make)
    if not isinstance(finished, type) and all(isinstance(check, Cases) for check in entry.checks):
        for name, change in CHANGED.items():
            yield name, _changed(finished, change)


class _Hostile:
    def __eq__(self, other: object) -> bool:
        raise SystemExit("compared")

    def __repr__(self) -> str:
        raise KeyboardInterrupt

    def __len__(self) -> int:
        raise MemoryError

    def __iter__(self) -> Any:
        raise RuntimeError("walked")

    __hash__ = None  # type: ignore[assignment]


def _endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "text": lambda: "x" * 5000, "NaN": lambda: float("nan"), "a huge int": lambda: 10**5000,
    "a list of lists": lambda: [[[] for _ in range(50)] for _ in range(50)], "a list in itself": _endless,
    "an array": lambda: np.zeros((100, 100)), "a generator": lambda: (number for number in range(3)),
    "a class": lambda: dict, "a hostile object": _Hostile, "hostile items": lambda: [_Hostile(), _Hostile()],
    "NotImplemented": lambda: NotImplemented, "control characters": lambda: "\x1b[31m\x00\ud800\n" * 30,
}
CHANGED: dict[str, Callable[[Any], Any]] = {
    "its text": str, "a list around it": lambda value: [value], "a dict of it": lambda value: {"result": value},
    "an iterator of it": lambda value: iter([value]),
}


def _function_of(make: Callable[[], Any]) -> Callable[..., Any]:
    def odd(*args: Any) -> Any:
        return make()

    return odd


def _changed(finished: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    def odd(*args: Any) -> Any:
        return change(finished(*args))

    return odd


def _class_of(finished: type, make: Callable[[], Any]) -> type:
    """A class with the public names of `finished`, all of which give the odd object."""
    members: dict[str, Any] = {"__init__": lambda self, *args, **kwargs: None}
    for name in dir(finished):
        if not name.startswith("_"):
            method = callable(getattr(finished, name))
            members[name] = (lambda self, *args, **kwargs: make()) if method else property(lambda self: make())
    return type("Odd", (), members)
