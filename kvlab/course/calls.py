"""The probe of `Cases`: one call with fixed arguments, compared with what the finished part does with them."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from typing import Any

from kvlab.course.compare import difference, is_plain, same, wrong_type
from kvlab.course.declare import Cases, Wrong
from kvlab.course.observe import SLIPS, Probe, Seen, attempt, raised
from kvlab.course.shorten import call_text, clip, long_arguments, parameters, show
from kvlab.course.tape import Tape


def case_probe(name: str, finished: Any, check: Cases, args: tuple[Any, ...]) -> Probe:
    """The probe that calls a part with `args` and compares result, exception and arguments with the finished part's."""

    def look(part: Any, tape: Tape) -> Seen:
        seen = judged(part, tape)
        seen.lines = [] if seen.kind == "wrong" else long_arguments(name, finished, args)
        return seen

    def judged(part: Any, tape: Tape) -> Seen:
        trouble = _arity(name, part, finished, args)
        if trouble:
            names = ", ".join(inspect.signature(finished).parameters)
            return Seen("wrong", trouble, next=f"keep the signature ({names}) as it was")
        wanted_args, got_args = copy.deepcopy(args), copy.deepcopy(args)
        wanted, refusal = attempt(lambda: finished(*wanted_args))
        tape.rewind()
        got, error = attempt(lambda: part(*got_args))
        if error is not None or refusal is not None or check.raises:
            return _judge_raised(check, wanted, refusal, got, error)
        return _judge_value(check, part, wanted, got, tape) or _judge_arguments(finished, args, wanted_args, got_args)

    return Probe(check, call_text(name, finished, args, below=True), look, args)


def _arity(name: str, part: Any, finished: Any, args: tuple[Any, ...]) -> str:
    """The sentence for a part that cannot be called with that many arguments, or an empty string."""
    try:
        signature = inspect.signature(part)
    except (TypeError, ValueError):  # no signature to be had
        return ""
    try:
        signature.bind(*args)
    except TypeError:
        wanted = ", ".join(parameters(finished, len(args)))
        return f"takes {clip(str(signature), 50)}, but is called as {name}({wanted})."
    return ""


def _judge_raised(check: Cases, wanted: Any, refusal: BaseException | None, got: Any,
                  error: BaseException | None) -> Seen:
    """The judgement of a call in which the part, the finished part or both raised."""
    allowed = check.raises or (type(refusal) if refusal is not None else ())
    kinds = allowed if isinstance(allowed, tuple) else (allowed,)
    names = " or ".join(kind.__name__ for kind in kinds)
    if error is None:
        return Seen("value", f"returned {show(got)}, expected it to raise {names}.", value=got)
    if isinstance(error, kinds):
        return Seen("right")
    expected = f"expected {names or show(wanted)}"
    next = f"raise {names}" if names and not isinstance(error, SLIPS) else None
    return Seen("raised", f"{raised(error)}{_comma(error)} {expected}.", wanted=wanted, error=error, next=next)


def _comma(error: BaseException) -> str:
    """Between an exception's text and the rest of the sentence; some texts bring their own full stop."""
    return "" if raised(error).endswith((",", ";")) else ";" if raised(error).endswith(".") else ","


def _judge_value(check: Cases, part: Any, wanted: Any, got: Any, tape: Tape) -> Seen | None:
    """What is wrong with a result, or None."""
    odd, next = _odd_result(part, wanted, got, tape)
    if odd:
        return Seen("value", odd, value=got, wanted=wanted, next=next)
    agree, trouble = attempt(lambda: bool((check.compare or same)(wanted, got)))
    if agree:
        return None
    if isinstance(trouble, Wrong):
        sentence = f"{difference(wanted, got)}: {trouble}"
        return Seen("value", sentence, value=got, wanted=wanted, next=trouble.next)
    return Seen("value", f"{difference(wanted, got)}.", value=got, wanted=wanted, next=wrong_type(wanted, got))


def _odd_result(part: Any, wanted: Any, got: Any, tape: Tape) -> tuple[str, str]:
    """The sentence for the results that a beginner is puzzled by, and what to do next; or empty strings."""
    if inspect.iscoroutine(got):
        got.close()
        return "returned a coroutine, because of `async def`; a plain `def` is what is needed.", "leave `async` out"
    if (inspect.isgenerator(got) or inspect.isasyncgen(got)) and not inspect.isgenerator(wanted):
        why = "because of `yield`" if got.__name__ != "<genexpr>" else "because of the round brackets"
        return f"returned a generator, {why}, expected {show(wanted)}.", _in_place_of_generator(wanted)
    if got is None and wanted is not None:
        if tape.text.strip():
            printed = f"printed {clip(tape.text, 40)} and returned nothing (None)"
            return f"{printed}, expected it to return {show(wanted)}.", "return the value; print only shows it"
        said = _says_none(part)
        if any(said) and not all(said):  # then it may be what was meant
            return f"returned None, expected {show(wanted)}.", ""
        next = "end with return" if all(said) else "return a value on every way out"
        return f"returned nothing (None), expected {show(wanted)}; is a `return` missing?", next
    if got is NotImplemented or got is Ellipsis:
        return (f"returned {show(got)}, which stands for something still to be written, expected {show(wanted)}.",
                "put the result in its place")
    return "", ""


def _says_none(part: Any) -> list[bool]:
    """For each `return` of a function, whether it gives `None`, or nothing; [] if its source is not known."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
    except (OSError, TypeError, SyntaxError):
        return []
    values = [branch for node in ast.walk(tree) if isinstance(node, ast.Return)
              for branch in _branches(node.value or ast.Constant(None))]
    return [isinstance(value, ast.Constant) and value.value is None for value in values]


def _branches(value: ast.expr) -> list[ast.expr]:
    """What a `return` may give: both sides of `a if b else c`."""
    if isinstance(value, ast.IfExp):
        return [*_branches(value.body), *_branches(value.orelse)]
    return [value]


def _in_place_of_generator(wanted: Any) -> str:
    if isinstance(wanted, (list, tuple)):
        return "return a list: [... for ...] makes one"
    return "use return, without yield"


def _copied(name: str, value: Any) -> str:
    """How to leave an argument alone."""
    kind = type(value).__name__
    how = f"{kind}({name})" if kind in ("list", "dict", "set") else f"a copy of {name}"
    return f"leave {name} as it came: work on {how}"


def _judge_arguments(finished: Any, given: tuple, wanted: tuple, got: tuple) -> Seen:
    """Whether the call left its arguments as the finished part leaves them."""
    names = parameters(finished, len(given)) or [f"number {place + 1}" for place in range(len(given))]
    for name, start, one, other in zip(names, given, wanted, got, strict=True):
        if is_plain(one) and not same(one, other):
            left = "it to be left alone" if same(start, one) else f"it to become {show(one, 50)}"
            sentence = f"changed its argument {name} to {show(other, 50)}, expected {left}."
            next = _copied(name, start) if same(start, one) else None
            if same(start, other):
                sentence = f"left its argument {name} at {show(other, 50)}, expected {left}."
            return Seen("argument", sentence, value=other, wanted=one, next=next)
    return Seen("right")
