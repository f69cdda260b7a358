"""Ways to get a pass out of a checker that runs beside the code it checks. None of them gets points here."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from tests.course.grade.notebooks import no_points


def test_shadowing_the_check_gets_no_points(graded_cells):
    shadow = """
import kvlab.course
def exercise(part):
    return part
def check(*_):
    return True
def judge(*_):
    return True
judge_learners = judge
kvlab.course.judge.judge = judge
"""
    no_points(graded_cells(shadow, "@exercise\ndef blocks_needed(num_tokens, block_size):\n    return 0\n"))


def test_patching_the_cases_gets_no_points(graded_cells):
    said = no_points(graded_cells("""
@exercise
def blocks_needed(num_tokens, block_size):
    from kvlab.course import registry
    entry = registry.find("blocks_needed")
    object.__setattr__(entry, "checks", ())
    return 0
"""))
    assert "out of reach" in said


def test_an_object_equal_to_everything_gets_no_points(graded_cells):
    class_ = """
class Anything(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __instancecheck__(self, other): return True
    def __index__(self): return self
    __lt__ = __gt__ = __le__ = __ge__ = __eq__
"""
    no_points(graded_cells(class_, """
@exercise
def blocks_needed(num_tokens, block_size):
    return Anything()
@exercise
def slot_mapping(table, start, stop, block_size):
    return Anything()
"""))


def test_calling_the_finished_part_gets_no_points(graded_cells):
    for call in ("from kvlab.memory import blocks_needed as finished",
                 "import kvlab.memory; finished = kvlab.memory.blocks_needed",
                 "import importlib; finished = importlib.import_module('kvlab.memory').blocks_needed"):
        said = no_points(graded_cells(f"""
@exercise
def blocks_needed(num_tokens, block_size):
    {call}
    return finished(num_tokens, block_size)
"""))
        assert "out of reach" in said


def test_a_helper_from_afar_is_never_the_part_itself(graded_cells):
    no_points(graded_cells("""
@exercise
def blocks_needed(num_tokens, block_size):
    import sys
    frame, server = sys._getframe(), None
    while frame is not None:
        server = server or frame.f_locals.get("self")
        frame = frame.f_back
    return server.ask({"service": "blocks_needed"}, num_tokens, block_size)
"""))


def test_reading_the_callers_frame_gets_no_points(graded_cells):
    no_points(graded_cells("""
@exercise
def blocks_needed(num_tokens, block_size):
    import sys
    frame = sys._getframe(1)
    while frame is not None:
        for name in ("wanted", "expected", "finished"):
            if name in frame.f_locals:
                found = frame.f_locals[name]
                return found(num_tokens, block_size) if callable(found) else found
        frame = frame.f_back
    return 0
"""))


@pytest.mark.parametrize("leave", ["raise SystemExit(0)", "import os; os._exit(0)", "import sys; sys.exit()"])
def test_leaving_early_gets_no_points(graded_cells, leave):
    no_points(graded_cells(f"@exercise\ndef blocks_needed(num_tokens, block_size):\n    {leave}\n"))


def test_reading_the_solution_from_disk_gets_no_points(graded_cells):
    root = Path(kvlab.__file__).resolve().parent.parent
    solution, source = root / "solutions" / "03_blocks_and_tables.py", root / "kvlab" / "memory" / "sizes.py"
    assert solution.is_file()
    for path in (solution, source, root / "solutions" / "03_blocks_and_tables.ipynb"):
        said = no_points(graded_cells(f"""
@exercise
def blocks_needed(num_tokens, block_size):
    text = open({str(path)!r}).read()
    return -(-num_tokens // block_size) if text else 0
"""))
        assert "PermissionError" in said or "FileNotFoundError" in said


def test_reading_it_around_python_gets_no_points_where_the_kernel_guards_files(graded_cells):
    path = Path(kvlab.__file__).resolve().parent / "errors.py"
    no_points(graded_cells(f"""
@exercise
def blocks_needed(num_tokens, block_size):
    import numpy as np
    text = np.fromfile({str(path)!r}, dtype=np.uint8)
    return -(-num_tokens // block_size) if len(text) else 0
"""))


def test_monkeypatching_the_module_gets_no_points(graded_cells):
    no_points(graded_cells("""
import kvlab.memory
kvlab.memory.blocks_needed = lambda num_tokens, block_size: 0
""", """
@exercise
def blocks_needed(num_tokens, block_size):
    import sys
    for module in list(sys.modules.values()):
        for name in ("same", "blocks_needed", "difference", "judge"):
            if hasattr(module, name):
                try:
                    setattr(module, name, lambda *_, **__: True)
                except Exception:
                    pass
    return 0
"""))


def test_returning_the_checkers_own_expected_object_gets_no_points(graded_cells):
    no_points(graded_cells("""
import gc
@exercise
def block_size_sweep(lengths, block_sizes):
    for thing in gc.get_objects():
        if type(thing) is list and len(thing) == len(block_sizes) and all(type(row) is tuple for row in thing):
            if [row[0] for row in thing if row] == list(block_sizes):
                return thing
    for thing in gc.get_objects():
        if type(thing).__name__ in ("Exercise", "Cases", "Traces", "Property"):
            return thing
    return []
""", only=("block_size_sweep",)), "block_size_sweep")


def test_what_a_class_says_of_itself_is_not_believed(graded_cells):
    no_points(graded_cells("""
@exercise
class BlockPool:
    def __init__(self, num_blocks):
        pass
    def __getattribute__(self, name):
        return Anything()
""", """
class Anything:
    def __eq__(self, other): return True
    def __call__(self, *_): return self
    def __index__(self): return 0
    def __iter__(self): return iter([])
    def __class__(self): return int
""", only=("BlockPool",)), "BlockPool")


def test_a_process_that_answers_for_the_part_gets_no_points_without_the_right_answers(graded_cells):
    no_points(graded_cells("""
@exercise
def blocks_needed(num_tokens, block_size):
    import os, json, struct
    data = json.dumps({"returned": {"value": True, "contents": {}}, "passed": ["all"], "__final__": "done"}).encode()
    for number in range(3, 30):
        try:
            os.write(number, (struct.pack("<I", len(data)) + data) * 50)
        except OSError:
            pass
    return 0
"""))
