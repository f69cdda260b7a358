"""The merge kernel against `kvlab.compute.merge_partials`."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvlab.compute import merge_partials
from kvlab.kernels.merge import merge
from tests.kernels.running import DEVICE, QUICK, close


@given(
    parts=st.sampled_from([1, 2, 5, 32, 33, 70]),
    shape=st.sampled_from([(1,), (2, 3), (2, 2, 2)]),
    dim=st.sampled_from([1, 6, 64, 80, 256]),
    empty=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 99),
)
@QUICK
def test_any_parts_merge_as_torch_merges_them(parts, shape, dim, empty, seed):
    draw = torch.Generator().manual_seed(seed)
    partials = torch.randn(parts, *shape, dim, generator=draw)
    lses = torch.randn(parts, *shape, generator=draw) * 5
    lses[torch.rand(lses.shape, generator=draw) < empty] = -math.inf
    partials[lses == -math.inf] = math.nan  # nobody wrote there
    found = merge(partials.to(DEVICE), lses.to(DEVICE))
    for a, b in zip(found, merge_partials(partials, lses), strict=True):
        close(a.cpu(), b)


def test_the_output_can_have_another_type():
    partials, lses = torch.randn(3, 4, 8, device=DEVICE), torch.randn(3, 4, device=DEVICE)
    output, lse = merge(partials, lses, dtype=torch.float16)
    assert output.dtype is torch.float16 and lse.dtype is torch.float32
    close(output.cpu(), merge_partials(partials, lses)[0].cpu(), torch.float16)


@pytest.mark.parametrize(
    "partials, lses, says",
    [
        (torch.zeros(2, 3, 8), torch.zeros(2, 4), r"not \(2, 3, 8\), \(2, 4\)"),
        (torch.zeros(0, 3, 8), torch.zeros(0, 3), r"not \(0, 3, 8\)"),
        (torch.zeros(2, 3, 8), torch.zeros(2, 3).half(), "float32"),
        (torch.zeros(2, 8, 3).transpose(1, 2), torch.zeros(2, 3), "in one piece"),
    ],
)
def test_parts_that_do_not_fit_are_refused(partials, lses, says):
    with pytest.raises(ValueError, match=says):
        merge(partials.to(DEVICE), lses.to(DEVICE))
