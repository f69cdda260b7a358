"""The engine on lab 05's kernels: the same tokens, and a sentence for what they cannot do."""

from __future__ import annotations

import pytest
import torch

from kvlab.compute import Kernels, paged_attention
from kvlab.errors import UsageError
from kvlab.kernels.basic_decode import grouped_decode_kernel, paged_decode_kernel
from kvlab.kernels.basic_write import write_kv_kernel
from kvlab.models import load_courier
from kvlab.serve import Engine

PROMPTS = [list(range(9, 29)), [7], list(range(40, 45))]


@pytest.fixture(scope="module")
def courier():
    return load_courier()[0]


def answers(model, **options):
    engine = Engine(model, 8, 16, checked=True, fill=float("nan"), **options)
    asked = [engine.submit(prompt, 5, eos=()) for prompt in PROMPTS[:2]]
    engine.step()
    asked.append(engine.submit(PROMPTS[2], 5, eos=()))  # so that one step has a prompt and decoding rows
    engine.run()
    return [generation.tokens for generation in asked]


@pytest.mark.parametrize("kernels", [
    Kernels(write_kv_kernel), Kernels(decode=paged_decode_kernel), Kernels(write_kv_kernel, grouped_decode_kernel)])
def test_i12_kernels_do_not_change_the_tokens(courier, kernels):
    assert answers(courier, kernels=kernels) == answers(courier)


def test_the_kernels_are_really_launched(courier):
    class Counted:
        def __init__(self, kernel):
            self.kernel, self.arg_names, self.launched = kernel, kernel.arg_names, 0

        def __getitem__(self, grid):
            self.launched += 1
            return self.kernel[grid]

    write, decode = Counted(write_kv_kernel), Counted(paged_decode_kernel)
    answers(courier, kernels=Kernels(write, decode))
    layers = courier.config.num_hidden_layers
    assert write.launched == 7 * layers  # the step that probes, and six steps
    assert decode.launched == 7 * layers  # each of these has at least one row with a single query


def test_a_decode_kernel_beside_an_attention_is_refused(courier):
    with pytest.raises(UsageError, match="not both"):
        Engine(courier, 8, attention=paged_attention, kernels=Kernels(decode=paged_decode_kernel))


def test_what_the_kernels_cannot_do_is_said(courier):
    with pytest.raises(UsageError, match="block_size 24"):
        Engine(courier, 8, 24, kernels=Kernels(decode=paged_decode_kernel))


def test_a_window_is_refused():
    from kvlab.compute.lab_kernels import decoder

    attend = decoder(paged_decode_kernel, paged_attention)
    pool, start, one = torch.zeros(1, 16, 1, 16), torch.tensor([0, 1]), torch.tensor([1])
    with pytest.raises(UsageError, match="no window"):
        attend(torch.zeros(1, 1, 16), pool, pool, torch.tensor([[0]]), start, one, window=4)
