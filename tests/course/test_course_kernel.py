"""The exercises in a real kernel: sources that only IPython has, threads beside a fork, interrupts, progress on
disk."""

from __future__ import annotations

import json
import threading
import time

import pytest

from tests.course.kernels import kernel

RIGHT = "@exercise\ndef round_up_to_block(tokens, size):\n    return -(-tokens // size) * size"
pytestmark = pytest.mark.skipif(pytest.importorskip("ipykernel") is None, reason="needs ipykernel")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One kernel for all these tests, with its progress in a file."""
    with kernel(tmp_path_factory.mktemp("kernel"), KVLAB_PROGRESS="") as started:
        yield started


def test_functions_and_classes_are_read_from_their_cells(running):
    assert running.run("open_lab('03')").startswith("Lab 03 · Blocks and tables:")
    assert running.run("@exercise\ndef blocks_needed(n, b):\n    ...").startswith("○ blocks_needed: not attempted.")
    said = running.run("%matplotlib inline\n@exercise\nclass BlockPool:\n    '''A pool.'''\n"
                       "    def take(self, count):\n        '''Takes.'''\n        raise NotImplementedError")
    assert said.startswith("○ BlockPool: not attempted.")
    assert running.run("@exercise\nclass BlockPool:\n    ...").startswith("○ BlockPool: not attempted.")
    said = running.run("@exercise\nclass BlockPool:\n    def __init__(self, n):\n        self.n = n")
    assert said.startswith("✗ BlockPool: num_free is not written yet.")


def test_what_a_cell_prints_is_the_verdict_alone(running):
    said = running.run("@exercise\ndef blocks_needed(n, b):\n    print('hello')\n"
                       "    import os; os.system('echo from below')\n    return n // b + 1")
    assert said.splitlines()[0].startswith("✗ blocks_needed(num_tokens=")
    assert "hello" not in said and "below" not in said
    assert "    hello" in running.run("help_me()")


def test_a_pass_is_saved_beside_the_notebook_and_shown(running):
    assert running.run(RIGHT).startswith("✓ round_up_to_block")
    folder = running.run("import os; print(os.getcwd())")
    with open(f"{folder}/kvlab-progress.json") as file:
        assert json.load(file)["exercises"]["round_up_to_block"]["passed_source"] == RIGHT
    assert "✓ round_up_to_block" in running.run("progress()")


def test_interrupting_the_kernel_ends_the_check_with_a_sentence(running):
    timer = threading.Timer(1.0, running.manager.interrupt_kernel)
    timer.start()
    started = time.monotonic()
    said = running.run("@exercise\ndef round_up_to_block(n, b):\n    while True:\n        pass")
    assert said.splitlines()[0] == "✗ round_up_to_block: the check was interrupted, so it did not count."
    assert time.monotonic() - started < 5


def test_a_say_it_box_is_a_line_of_text_to_those_without_widgets(running):
    said = running.run("say_it('00', ...)")
    assert said.startswith("Say it aloud in ") or said.startswith("There is nothing to say aloud")


def test_the_kernel_is_still_the_same_after_all_that(running):
    assert running.run("print(sum(range(5)))") == "10"
