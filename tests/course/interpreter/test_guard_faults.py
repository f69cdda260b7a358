"""What a kernel does wrong is named: the argument, the index, the program, the line. F36, F39."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
import torch
from triton.runtime import interpreter
from triton.tools.tensor_descriptor import TensorDescriptor

from kvlab.course.interpreter import POISON, KernelFault, Window, guarded
from kvlab.errors import KVLabError, UsageError
from tests.course.interpreter import kernels


def fault(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> KernelFault:
    """The fault of a launch."""
    with pytest.raises(KernelFault) as caught:
        guarded(kernel, grid, *arguments, **named)
    return caught.value


def copy_fault(kernel: Any, n: int = 100) -> KernelFault:
    return fault(kernel, (2,), torch.arange(float(n)), torch.zeros(n), n, TILE=64)


def table(*entries: int) -> torch.Tensor:
    return torch.tensor(entries, dtype=torch.int32)


def test_an_unmasked_load_past_the_end_is_named():
    found = copy_fault(kernels.load_unmasked)
    assert (found.kind, found.argument, found.index, found.program) == ("range", "source", 100, (1,))
    assert found.line.number == 4 - 1 and found.line.text == "x = tl.load(source + i)"
    assert found.sentence == ("reads source past its end: element 100, and it has 100 elements. "
                              "Program 1, line 3: x = tl.load(source + i).")


def test_an_unmasked_store_past_the_end_is_named_and_nothing_behind_it_changes():
    memory = torch.zeros(128)
    found = fault(kernels.store_unmasked, (2,), torch.ones(100), memory[:100], 100, TILE=64)
    assert (found.kind, found.argument, found.index) == ("range", "target", 100)
    assert not memory[100:].any()


def test_an_index_before_the_start_is_named():
    found = copy_fault(kernels.starts_early)
    assert (found.kind, found.argument, found.index) == ("range", "source", -3)
    assert "before its start" in found.sentence


def test_a_neighbouring_tensor_is_not_read_in_its_place():
    memory = torch.zeros(256)
    found = fault(kernels.load_unmasked, (2,), memory[:100], memory[128:228], 100, TILE=64)
    assert (found.argument, found.index) == ("source", 100)


def test_the_range_of_a_strided_view_is_that_of_its_elements():
    rows = torch.arange(40.0).view(4, 10)[1:3, 2:5]
    guarded(kernels.copy, (1,), rows, torch.zeros(13), 13, TILE=16)
    assert fault(kernels.copy, (1,), rows, torch.zeros(14), 14, TILE=16).index == 13


def test_a_block_the_pool_does_not_have_is_named_with_its_index_and_the_entry_it_came_from():
    found = fault(kernels.gather, (2,), torch.randn(16, 4, 8), table(3, 17), torch.zeros(2, 32), 32, TILE=32)
    assert (found.kind, found.argument, found.index, found.program) == ("wild", "pool", 17 * 32, (1,))
    assert "element 544 = [17, 0, 0], and it has 512 elements of shape [16, 4, 8]" in found.sentence
    assert "The 17 comes from table[1]." in found.sentence


@pytest.mark.parametrize("width", [32, 48])
def test_an_entry_that_was_never_written_is_called_that_even_if_its_address_wraps_into_the_pool(width):
    tables = torch.full((2, 3), POISON, dtype=torch.int32)
    found = fault(kernels.gather, (1,), torch.randn(16, width), tables, torch.zeros(1, width), width, TILE=64)
    assert (found.kind, found.argument, found.index) == ("wild", "pool", POISON * width)
    assert "The block id is table[0, 0], an entry that was never written." in found.sentence


def test_a_wild_index_of_no_table_says_what_it_may_be():
    found = fault(kernels.copy, (1,), torch.zeros(4), Window(torch.zeros(4), 2**33), 4, TILE=4)
    assert found.kind == "range" and found.argument == "target"
    far = fault(kernels.gather, (1,), torch.zeros(16, 4), table(5).long() * 2**40, torch.zeros(4), 4, TILE=4)
    assert far.kind == "wild" and far.index == 5 * 2**42


def test_an_address_of_no_argument_is_no_crash():
    found = fault(kernels.no_pointer, (1,), torch.zeros(4), torch.zeros(4), 4, TILE=4)
    assert found.kind == "wild" and "belongs to no argument" in found.sentence


def test_a_value_that_was_never_written_and_reaches_the_output_names_its_load():
    rows = torch.ones(2, 16)
    rows[1, 9:] = math.nan
    found = fault(kernels.row_sums, (2,), rows, table(16, 9), torch.zeros(2), 16, TILE=16)
    assert (found.kind, found.argument, found.index, found.program) == ("uninitialised", "source", 25, (1,))
    assert "stores nan in target[1], because it read source[1, 9], which was never written." in found.sentence
    assert found.line.text.startswith("x = tl.load(source")


@pytest.mark.parametrize("kernel", [kernels.row_sums_masked, kernels.row_sums_chosen_late])
def test_a_value_that_was_never_written_and_is_left_out_is_no_fault(kernel):
    rows, sums = torch.ones(2, 16), torch.zeros(2)
    rows[1, 9:] = math.nan
    guarded(kernel, (2,), rows, table(16, 9), sums, 16, TILE=16)
    assert sums.tolist() == [16, 9]


def test_a_kernel_that_copies_what_was_never_written_is_right_where_that_is_allowed():
    source, target = torch.full((8,), math.nan), torch.zeros(8)
    assert fault(kernels.copy, (1,), source, target, 8, TILE=8).kind == "uninitialised"
    guarded(kernels.copy, (1,), source, target, 8, TILE=8, poisoned=())
    assert target.isnan().all()


def test_two_programs_that_write_one_element_are_both_named():
    found = copy_fault(kernels.always_the_first_tile)
    assert (found.kind, found.argument, found.index, found.program) == ("race", "target", 0, (1,))
    assert "writes target[0] in program 0 and again in program 1" in found.sentence


def test_two_programs_may_write_one_element_where_that_is_allowed():
    target = torch.zeros(100)
    guarded(kernels.always_the_first_tile, (2,), torch.ones(100), target, 100, TILE=64, shared=("target",))
    assert target.sum() == 64


def test_reading_what_another_program_writes_is_a_race():
    found = fault(kernels.prefix_sums, (3,), torch.ones(3), torch.zeros(3), 3, TILE=1)
    assert found.kind == "race" and "writes target[0] in program 0 and reads it in program 1" in found.sentence


def test_two_names_for_the_same_memory_are_one_memory():
    memory = torch.zeros(8)
    found = fault(kernels.prefix_sums, (3,), memory[1:4], memory[1:4], 3, TILE=1)
    assert found.kind == "race"


def test_atomic_sums_of_many_programs_are_no_race():
    total = torch.zeros(1)
    guarded(kernels.count_all, (2,), torch.ones(100), total, 100, TILE=64)
    assert total.item() == 100


def test_a_missing_int64_is_named_with_the_line_and_the_numbers():
    pool = Window(torch.randn(4, 32), 70_000_000 * 32)
    found = fault(kernels.gather, (1,), pool, table(70_000_001), torch.zeros(32), 32, TILE=32)
    assert (found.kind, found.argument, found.index) == ("overflow", "pool", 70_000_001 * 32)
    assert "missing int64: 70,000,001 * 32 = 2,240,000,032 does not fit in int32" in found.sentence
    assert "line 5: row = tl.load(pool + block * width + i, mask=i < width)" in found.sentence


def test_with_int64_the_far_end_of_a_huge_pool_is_read():
    rows, target = torch.randn(4, 32), torch.zeros(32)
    guarded(kernels.gather_wide, (1,), Window(rows, 70_000_000 * 32), table(70_000_001), target, 32, TILE=32)
    assert torch.equal(target, rows[1])


def test_arithmetic_that_wraps_and_is_no_address_is_no_fault():
    seeds, target = torch.arange(1, 9, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    guarded(kernels.hashes, (1,), seeds, target, 8, TILE=8)
    wanted = [(seed * 1_000_003**2 + 2**31) % 2**32 - 2**31 for seed in range(1, 9)]
    assert target.tolist() == wanted
    guarded(kernels.wraps_on_purpose, (1,), seeds, torch.arange(8.0), torch.zeros(8), 8, TILE=8)


def test_what_wraps_in_a_masked_lane_is_no_fault():
    target = torch.zeros(4)
    guarded(kernels.wraps_where_masked, (1,), table(0, 0, POISON + 1, POISON + 1), torch.ones(1), target, 2, TILE=4)
    assert target.tolist() == [1, 1, 0, 0]
    wrong = fault(kernels.wraps_where_masked, (1,), table(0, POISON + 1, 0, 0), torch.ones(1), target, 2, TILE=4)
    assert wrong.kind == "wild" and "table[1]" in wrong.sentence


def test_a_helper_of_the_kernels_is_named_with_its_line():
    found = copy_fault(kernels.through_a_helper)
    assert (found.line.number, found.line.helper) == (2, "helper")
    assert "line 2 of helper: return tl.load(source + i)." in found.sentence


TILES = [kernels.descriptors] + [kernels.block_pointers] * hasattr(interpreter, "BlockPointerHandle")  # gone in 3.9


@pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
@pytest.mark.parametrize("kernel", TILES)
def test_loads_of_whole_tiles_are_watched_too(kernel):
    found = copy_fault(kernel)
    assert (found.kind, found.argument, found.index) == ("range", "source", 100)


def test_a_descriptor_as_an_argument_is_watched_under_its_name():
    target = torch.zeros(100)
    guarded(kernels.given_descriptor, (2,), TensorDescriptor(torch.ones(100), [100], [1], [64]), target, 100, TILE=64)
    assert target.all()
    wrong = TensorDescriptor(torch.ones(100), [128], [1], [64])
    found = fault(kernels.given_descriptor, (2,), wrong, target, 100, TILE=64)
    assert (found.kind, found.argument, found.index) == ("range", "source", 100)


def test_a_grid_of_two_axes_names_both():
    found = fault(kernels.always_the_first_tile, (1, 2), torch.ones(8), torch.zeros(8), 8, TILE=8)
    assert found.program == (0, 1) and "program (0, 1)" in found.sentence


def test_bfloat16_is_refused_with_what_to_use():
    with pytest.raises(UsageError, match=r"source is bfloat16, .* use float32 or float16 here"):
        guarded(kernels.copy, (1,), torch.zeros(8, dtype=torch.bfloat16), torch.zeros(8), 8, TILE=8)
    assert copy_fault(kernels.narrows).kind == "bfloat16"


def test_a_fault_is_an_error_of_the_course_and_travels_between_processes():
    found = copy_fault(kernels.load_unmasked)
    other = pickle.loads(pickle.dumps(found))
    assert isinstance(found, KVLabError) and str(other) == str(found) and vars(other) == vars(found)
