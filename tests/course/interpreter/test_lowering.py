"""Without a GPU, a kernel that only the interpreter can run does not pass."""

from __future__ import annotations

import pytest

from kvlab import has_gpu
from kvlab.course import registry, verdict
from kvlab.course.judge import judge
from kvlab.course.launches import Launches
from kvlab.course.lowering import Compiler, lowered
from kvlab.course.verdict import FAILED, PASSED
from tests.course.cells import Notebook, fits
from tests.course.interpreter import uncompilable
from tests.course.interpreter.masked_copy import MASKED_COPY, masked_copy

KERNELS = [entry for entry in registry.every() if hasattr(registry.part_of(entry), "fn")]


@pytest.fixture(scope="module")
def compiler():
    opened = Compiler()
    opened.start()
    yield opened
    opened.close()


@pytest.mark.parametrize("name, line, advice", [
    ("breaks", "break", "bound the loop"),
    ("goes_on", "continue", "under an if"),
    ("changes_its_type", "for _ in range(n):", "begin it with the type"),
    ("collects", "tiles = ", "as a GPU can run it"),
])
def test_a_kernel_that_does_not_compile_is_named_with_its_line(compiler, name: str, line: str, advice: str) -> None:
    kernel = getattr(uncompilable, name)
    right = judge(MASKED_COPY, kernel)
    assert right.status == PASSED
    found = lowered(MASKED_COPY, kernel, right, compiler)
    assert found.status == FAILED and fits(found.text)
    assert "right in the interpreter, but on a GPU it does not compile" in found.text
    assert line in found.text and advice in found.text and "hint()" in found.text


@pytest.mark.parametrize("entry", KERNELS, ids=lambda entry: entry.name)
def test_every_finished_kernel_compiles(compiler, entry) -> None:
    part = registry.part_of(entry)
    for check in entry.checks:
        if isinstance(check, Launches):
            for value in check.examples:
                assert compiler.complaint(part, check.build(value).arguments) == ""
    assert compiler.helper.alive and compiler.helper.ready


def test_a_kernel_that_failed_is_not_compiled(compiler) -> None:
    wrong = verdict.failed("masked_copy", "masked_copy: target[3] was never written.")
    assert lowered(MASKED_COPY, uncompilable.breaks, wrong, compiler) is wrong


def test_a_compiler_that_died_says_nothing_and_comes_back(compiler) -> None:
    right = judge(MASKED_COPY, masked_copy)
    compiler.helper.process.kill()
    compiler.helper.process.wait()
    assert lowered(MASKED_COPY, masked_copy, right, compiler) is right
    assert lowered(MASKED_COPY, uncompilable.breaks, right, compiler).status == FAILED


@pytest.mark.skipif(has_gpu(), reason="with a GPU the kernel itself runs there")
def test_a_learner_without_a_gpu_is_told() -> None:
    notebook = Notebook()
    notebook.run("import triton\nimport triton.language as tl")
    said = notebook.exercise("""
        @triton.jit
        def copy_blocks_kernel(pool, sources, targets, block_numel, TILE: tl.constexpr):
            pair = tl.program_id(0)
            source = tl.load(sources + pair).to(tl.int64)
            target = tl.load(targets + pair).to(tl.int64)
            place = tl.program_id(1) * TILE + tl.arange(0, TILE)
            while True:
                numbers = tl.load(pool + source * block_numel + place, mask=place < block_numel)
                tl.store(pool + target * block_numel + place, numbers, mask=place < block_numel)
                break
        """)
    assert said.startswith("✗ copy_blocks_kernel: right in the interpreter") and "break" in said
