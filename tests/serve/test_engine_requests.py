"""What may be asked of an engine, and what is refused before it waits: what never fits, makes no sense, or is taken."""

from __future__ import annotations

import pytest
from transformers import Phi3Config, Phi3ForCausalLM

from kvlab.errors import UsageError
from kvlab.serve.admission import NeverFits
from kvlab.serve.engine import Engine
from tests.serve.models import COMMON, VOCAB, greedy, prompt, tiny
from tests.serve.tiny_engine import PROMPTS, B, engine, expected, idle


def test_a_request_that_can_never_fit_is_refused_with_both_numbers_and_the_next_goes_on():
    serving = engine(3)
    with pytest.raises(
        NeverFits, match=r"may need 4 blocks of 4 slots \(9 \+ 5 tokens\), and there are 3 in all"
    ) as refused:
        serving.submit(prompt(9), 5)
    assert (refused.value.needed, refused.value.there) == (4, 3)
    fits = serving.submit(prompt(9), 4)  # 12 tokens have keys to keep: the last one sampled is never run
    serving.run()
    assert fits.tokens == greedy(tiny("llama"), prompt(9), 4) and idle(serving)


def test_a_request_longer_than_the_model_is_refused():
    with pytest.raises(NeverFits, match="257 positions of the model, and there are 256"):
        engine(100).submit(prompt(250), 8)


def test_positions_beyond_which_a_long_request_would_change_the_others_are_not_served():
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
    model = Phi3ForCausalLM(Phi3Config(**COMMON, original_max_position_embeddings=8, rope_parameters=rope))
    model.generation_config.eos_token_id = None
    serving = Engine(model.eval(), 20, B)
    with pytest.raises(NeverFits, match="9 positions of the model, and there are 8"):
        serving.submit(prompt(6), 4)
    generation = serving.submit(prompt(6), 3)
    serving.run()
    assert generation.tokens == greedy(model, prompt(6), 3)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (([], 4), "at least 1 token"),
        (([5], 0), "at least 1"),
        (([VOCAB], 1), f"from 0 to {VOCAB - 1}"),
        (([-1], 1), "token ids go from 0"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(arguments, says):
    with pytest.raises(UsageError, match=says):
        engine().submit(*arguments)


def test_two_requests_of_one_name_cannot_be_told_apart_and_the_second_is_refused():
    serving = engine()
    serving.submit([5], 4, request_id="a")
    with pytest.raises(UsageError, match="'a' is there already"):
        serving.submit([6], 4, request_id="a")
    serving.run()
    serving.submit([6], 4, request_id="a")


def test_a_number_that_a_caller_took_as_a_name_is_not_given_to_another():
    serving = engine()
    named = serving.submit([5], 2, request_id=0)
    assert [serving.submit([5], 2).id for _ in range(2)] == [1, 2] and named.id == 0
    with pytest.raises(TypeError, match="unhashable"):
        serving.submit([5], 2, request_id=[1])
    with pytest.raises(TypeError, match="integer"):
        serving.submit([5], 2.5)
    serving.run()
    assert idle(serving)


def test_a_request_of_another_engine_is_refused_and_not_waited_for():
    mine, other = engine(), engine()
    foreign = other.submit(PROMPTS[0], 3)
    for use in (lambda: next(mine.stream(foreign)), lambda: mine.abort(foreign)):
        with pytest.raises(UsageError, match="request 0 neither waits nor runs in this engine"):
            use()
    other.run()
    assert list(mine.stream(foreign)) == expected()[0][:3]  # it has ended: nothing has to be run


def test_an_engine_that_could_never_run_anything_is_refused():
    for wrong in ({"max_running": 0}, {"token_budget": 0}):
        with pytest.raises(UsageError, match="at least 1 request and 1 token"):
            engine(**wrong)
