"""What FP8 costs courier: next to nothing with scales that fit, visibly much with others."""

from __future__ import annotations

import math

import pytest
import torch

from kvlab.compute import Scales
from kvlab.errors import UsageError
from kvlab.models import courier_answers, load_courier
from kvlab.models.training.conversations import chats
from kvlab.models.training.measure import perplexity
from kvlab.serve import Setting, calibrate_on, compare_quality, with_larger_keys
from tests.serve.models import prompt, tiny


@pytest.fixture(scope="module")
def courier():
    return load_courier()


@pytest.fixture(scope="module")
def answers(courier):
    return courier_answers(courier[1], 24)


@pytest.fixture(scope="module")
def others(courier):
    """Conversations to calibrate on, which are none of those that are scored."""
    return [ids for ids, _ in courier_answers(courier[1], 8, seed=99)]


@pytest.fixture(scope="module")
def larger(courier):
    return with_larger_keys(courier[0])


@pytest.fixture(scope="module")
def found(courier, answers, others, larger):
    model = courier[0]
    tensor = calibrate_on(model, others)
    return compare_quality(
        model,
        {
            "bf16": Setting(load_courier(torch.bfloat16)[0]),
            "unscaled": Setting(model, "fp8"),
            "tensor": Setting(model, "fp8", tensor),
            "head": Setting(model, "fp8", calibrate_on(model, others, "head")),
            "token_head": Setting(model, "fp8", "token_head"),
            "e5m2": Setting(model, "fp8_e5m2"),
            "too small": Setting(model, "fp8", (0.002, 0.002)),
            "too large": Setting(model, "fp8", (2000.0, 2000.0)),
            "swapped": Setting(model, "fp8", Scales([(value, key) for key, value in tensor.layers])),
            "larger keys": Setting(larger),
            "larger keys, unscaled": Setting(larger, "fp8"),
            "larger keys, tensor": Setting(larger, "fp8", calibrate_on(larger, others)),
        },
        answers,
    )


def cost(found, name: str) -> float:
    """Percent by which the perplexity is above the reference's."""
    return 100 * (found[name].perplexity / found["reference"].perplexity - 1)


def test_the_reference_is_the_perplexity_of_the_model_itself(courier, found, answers):
    from itertools import islice

    model, tokenizer = courier
    expected = perplexity(model, tokenizer, list(islice(chats(7, held_out=True), len(answers))))
    assert found["reference"].perplexity == pytest.approx(expected, rel=1e-5)
    assert found["reference"].changed == 0 and found["reference"].kl == 0


@pytest.mark.parametrize("name", ["bf16", "unscaled", "tensor", "head", "token_head", "e5m2"])
def test_with_sane_scales_fp8_changes_couriers_perplexity_by_less_than_one_percent(found, name):
    assert abs(cost(found, name)) < 1
    assert found[name].changed < 0.01 and 0 < found[name].kl < 0.005


@pytest.mark.parametrize("name", ["too small", "too large"])
def test_with_bad_scales_it_is_visibly_worse(found, name):
    assert cost(found, name) > 20 and found[name].changed > 0.05 and found[name].kl > 0.1


def test_swapped_scales_of_keys_and_values_are_worse_than_right_ones(found):
    assert cost(found, "swapped") > 1 > cost(found, "tensor")
    assert found["swapped"].kl > 10 * found["tensor"].kl


def test_a_rescaling_that_changes_nothing_shows_what_scales_are_for(found):
    assert abs(cost(found, "larger keys")) < 1e-3 and found["larger keys"].changed == 0
    assert cost(found, "larger keys, unscaled") > 20 and found["larger keys, unscaled"].changed > 0.05
    assert found["larger keys, tensor"].perplexity == pytest.approx(found["tensor"].perplexity, rel=1e-4)


def test_calibrated_scales_are_those_of_the_largest_keys_and_values_that_the_model_makes(courier, others, larger):
    model, tensor = courier[0], calibrate_on(courier[0], others)
    seen = [0.0] * 4
    with torch.no_grad():
        for ids in others:
            layers = model(torch.tensor([ids]), use_cache=True).past_key_values.layers
            seen = [max(most, float(layer.keys.abs().max())) for most, layer in zip(seen, layers, strict=True)]
    assert [key for key, _ in tensor.layers] == pytest.approx([most / 448 for most in seen], rel=1e-4)
    keys = [
        (mine[0], theirs[0]) for mine, theirs in zip(calibrate_on(larger, others).layers, tensor.layers, strict=True)
    ]
    assert all(mine == pytest.approx(256 * theirs, rel=1e-4) for mine, theirs in keys)


def test_what_cannot_be_compared_or_calibrated_is_refused(courier):
    model = courier[0]
    ids = prompt(5)
    for call, match in (
        (lambda: compare_quality(model, {}, []), "0 answers hold no token to predict"),
        (lambda: compare_quality(model, {}, [(ids, [-100] * 5)]), "1 answers hold no token to predict"),
        (lambda: compare_quality(model, {}, [(ids, [4] * 4)]), "5 tokens and what is to follow 4 of them"),
        (lambda: calibrate_on(model, []), "0 conversations"),
        (lambda: calibrate_on(model, [ids], kv_dtype="auto"), 'need no scales as "auto"'),
        (lambda: with_larger_keys(tiny("qwen3")), "no keys that could be rescaled unseen"),
        (lambda: with_larger_keys(tiny("gpt2")), "no keys that could be rescaled unseen"),
    ):
        with pytest.raises(UsageError, match=match):
            call()


def test_the_order_of_answers_and_their_batches_do_not_matter(courier, answers):
    model = courier[0]
    one = compare_quality(model, {"fp8": Setting(model, "fp8")}, answers[:6])
    other = compare_quality(model, {"fp8": Setting(model, "fp8")}, answers[5::-1])
    for name in one:
        assert math.isclose(one[name].perplexity, other[name].perplexity, rel_tol=1e-5)
