"""What the text of a kernel says about why it failed, where the numbers alone do not: a mask of another shape than its
tile, `and` between two tiles, a pointer that is indexed."""

from __future__ import annotations

import ast
import linecache
import re
import traceback
from typing import Any, NamedTuple

from kvlab.course.interpreter.launch import function_of
from kvlab.course.interpreter.origins import tree_of
from kvlab.course.shorten import clip


class Hunch(NamedTuple):
    """`says`: a sentence. `next`: what to do about it."""

    says: str
    next: str


_AND = Hunch("`and`, `or` and `not` keep one side of two tiles, and not lane by lane.",
             "join masks with &, each in brackets: (a < n) & (b >= 0)")
_GROUP = Hunch("A tile has GROUP_TILE rows, of which the first GROUP count.",
               "use tl.arange(0, GROUP_TILE), and mask rows by member < GROUP")
_MASK = Hunch("A mask needs the tile's shape, and a tile of rows and columns has two axes.",
              "give the mask both: inside[:, None] is [BLOCK_SIZE, 1]")
_SCORES = Hunch("Scores are [GROUP_TILE, BLOCK_SIZE]: tokens lie along axis 1.", "mask scores by seen[None, :]")
_SUM = Hunch("tl.sum(tile, axis=1) leaves one number a row, axis=0 one a column.",
             "sum scores over the head's numbers, axis=1, values over tokens, axis=0")
_AXES = Hunch("Two rows of numbers make a tile only if one stands and the other lies.",
              "give each an axis: rows[:, None] + dim[None, :]")
_POINTER = Hunch("A kernel gets pointers, and a pointer has no index.",
                 "read through tl.load: tl.load(context_lengths + sequence)")
_TRANS = Hunch("tl.dot(a, b) sums over the last axis of a and the first of b; keys are [BLOCK_SIZE, HEAD_DIM].",
               "turn the keys around: tl.dot(q, tl.trans(k))")
_TYPES = Hunch("Both sides of tl.dot must have one type; weights are float32.",
               "turn the weights into the values' type: weights.to(v.dtype)")


def of_error(part: Any, error: BaseException) -> tuple[str, Hunch] | None:
    """The sentence for an exception that a kernel raised, with its line, and the hunch it ends in; or None."""
    line, before = _failing_lines(part, error)
    if not line:
        return None
    hunch = _by_message(str(error), line, before, _text(part))
    if hunch is None:
        return None
    shapes = re.search(r"incompatible dimensions at index \d+: (\d+) and (\d+)", str(error))
    why = f", for shapes that do not fit ({shapes[1]} and {shapes[2]})" if shapes else ""
    stop = "" if line.endswith(".") else "."
    return f"raised {type(error).__name__}{why}. {clip(line, 90)}{stop} {hunch.says}", hunch


def of_result(part: Any) -> Hunch | None:
    """What is wrong in the text of a kernel whose accesses or numbers are wrong."""
    tree = _tree(part)
    return _AND if tree is not None and _has_and(tree) else None


def _by_message(said: str, line: str, before: str, text: str) -> Hunch | None:
    if "'int' object is not iterable" in said or "is not subscriptable" in said:
        return _POINTER if re.search(r"\w+\[(?!:|None)", line) else None
    if "same dtype" in said and "tl.dot" in line:
        return _TYPES
    if "reduction dimensions" in said or ("tl.dot" in line and "incompatible" in said and "tl.trans" not in line):
        return _TRANS
    if re.search(r"arange\(0, *(GROUP|HEADS *// *KV_HEADS)\)", text) and "GROUP_TILE" in text:
        return _GROUP
    if "incompatible dimensions" not in said and "broadcast" not in said:
        return None
    return _of_shapes(line, before)


def _of_shapes(line: str, before: str) -> Hunch | None:
    if "tl.load" in line or "tl.store" in line:
        mask = re.search(r"mask *= *([^,]*)", line)
        return _MASK if mask and "None" not in mask[1] else _AXES
    if "tl.sum" in line or ("tl.where" in line and "tl.sum" in before):
        return _SUM
    if "tl.where" in line and "[:, None]" in line:
        return _SCORES
    return _AXES if "None" not in line or re.search(r"\+ *\w+ *\*|\w+ *\+ *\w+$", line) else None


def _has_and(tree: ast.AST) -> bool:
    """Whether `and`, `or` or `not`, or a chain of comparisons, makes a value: in an `if` it is a plain question."""
    asked = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp))]
    plain = {id(node) for test in asked for node in ast.walk(test)}
    return any(isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
               or (isinstance(node, ast.Compare) and len(node.ops) > 1)
               for node in ast.walk(tree) if id(node) not in plain)


def _tree(part: Any) -> ast.FunctionDef | None:
    return tree_of(function_of(part))


def _text(part: Any) -> str:
    tree = _tree(part)
    return ast.unparse(tree) if tree is not None else ""


def _failing_lines(part: Any, error: BaseException) -> tuple[str, str]:
    """The kernel's innermost line in the traceback, as "line 3: ...", and the text of the one above it."""
    code, tree = function_of(part).__code__, _tree(part)
    frames = [number for frame, number in traceback.walk_tb(error.__traceback__)
              if frame.f_code.co_filename == code.co_filename and frame.f_code.co_name == code.co_name]
    if not frames or tree is None:
        return "", ""
    above, here = (linecache.getline(code.co_filename, frames[-1] - back).strip() for back in (1, 0))
    return f"Line {frames[-1] - (code.co_firstlineno + tree.lineno - 1) + 1}: {here}", above
