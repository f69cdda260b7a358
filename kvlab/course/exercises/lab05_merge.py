"""Lab 05: what was attended in parts becomes one."""

from __future__ import annotations

from typing import Any

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab05_merge_mistakes as wrong
from kvlab.course.exercises.lab05_merge_bench import Merge, render, run
from kvlab.course.exercises.scenarios import corners, scenarios


def merges(name: str, *values: Merge, invariant: str | None = None, next: str | None = None) -> Traces:
    return scenarios(name, run, render, *values, invariant=invariant, next=next)


_WEIGHTS = "weigh part i with exp(lses[i] - lse), lse being torch.logsumexp(lses, 0)"
_LSE = "return torch.logsumexp(lses, 0) as the second result"
_EMPTY = "leave out what empty parts hold: masked_fill it where lses is -inf"
_NONE = "take 0 for lse where all parts are empty, before the subtraction"

MERGE_PARTIALS: Any = Exercise(
    name="merge_partials", lab="05", part="kvlab.compute.merge_partials", stars=2, core=True, minutes=15,
    checks=(
        merges("two parts", Merge((4, 4)), Merge((5, 2)), Merge((1, 6), (3,)), next=_WEIGHTS),
        merges("more parts", Merge((3, 4, 2)), Merge((2, 2, 2, 1), scores="steep"), Merge((6,)), next=_WEIGHTS),
        merges("several sequences", Merge((3, 2), (2, 2)), Merge((2, 4, 1), (3, 2), 4),
               next="count parts along the first dimension, whatever follows"),
        merges("large scores", Merge((3, 4), scores="high"), Merge((3, 4), scores="low"),
               next="take something off before exp: torch.logsumexp does"),
        merges("an empty part", Merge((3, 0)), Merge((0, 2, 1), (2, 2)), next=_EMPTY),
        merges("empty parts alone", Merge((0, 0)), Merge((0,), (1, 2)), next=_NONE),
        corners("one of many", run, render, Merge((1, 1, 1, 1, 1), (1,), 1), Merge((0, 1, 0, 0), (4,), 2),
                next="go through this call by hand"),
    ),
    mistakes=(
        Mistake(wrong.plain_mean, "Looks like the mean of the outputs. A part with larger scores must count more.",
                next=_WEIGHTS),
        Mistake(wrong.plain_sum, "Adds the outputs up. Each is a mean already, so their weights must add up to 1.",
                next=_WEIGHTS),
        Mistake(wrong.lse_as_weight, "Weighs with the logs. The weight of a part is its sum, exp of the log.",
                next=_WEIGHTS),
        Mistake(wrong.weights_do_not_add_up,
                "The weights do not add up to 1: relative to the largest, they must be divided by their sum.",
                next=_WEIGHTS),
        Mistake(wrong.no_largest, "Looks like exp() of the logs as they are. Above 88 that is inf in float32.",
                next=_WEIGHTS),
        Mistake(wrong.no_largest_and_nan, "Looks like exp() of the logs as they are. Above 88 that is inf in float32.",
                next=_WEIGHTS),
        Mistake(wrong.clears_in_place,
                "Clears what empty parts hold in the tensor that was passed in. It is the caller's.",
                next="use outputs.masked_fill, which makes a new tensor"),
        Mistake(wrong.undivided_no_largest,
                "Weighs with exp() of the logs, and does not divide by their sum: the weights do not add up to 1.",
                next=_WEIGHTS),
        Mistake(wrong.lses_added, "Adds the logs. The log of a sum is not the sum of the logs.", next=_LSE),
        Mistake(wrong.largest_lse, "The second result is the largest log. The other parts' sums belong to it too.",
                next=_LSE),
        Mistake(wrong.mean_lse, "The second result is the mean of the logs. The log of the whole sum is asked.",
                next=_LSE),
        Mistake(wrong.lse_without_largest,
                "The second result is relative to the largest log. That must be added again.", next=_LSE),
        Mistake(wrong.sum_without_log, "The second result is the sum itself. Its log is asked.", next=_LSE),
        Mistake(wrong.nan_times_zero, "An empty part has the weight 0 and may hold anything: 0 times nan is nan.",
                invariant="I6", next=_EMPTY),
        Mistake(wrong.nan_of_empties, "Where all parts are empty, -inf - (-inf) is nan. The output there is 0.",
                next=_NONE),
        Mistake(wrong.over_heads, "The weights add up to 1 over the heads. They must do so over the parts.",
                next="sum and softmax over dimension 0"),
        Mistake(wrong.loudest_part, "Takes the part with the largest sum, and leaves out the others.", next=_WEIGHTS),
        Mistake(wrong.first_part, "Gives the first part alone.", next=_WEIGHTS),
        Mistake(wrong.two_parts, "Merges the first two parts. There may be any number of them.",
                next="sum over dimension 0, whatever its size"),
        Mistake(wrong.output_alone, "Gives the output alone. The log of the sum is needed to merge once more.",
                next="return output, lse"),
        Mistake(wrong.turned_around, "Gives the log of the sum first. The output comes first.",
                next="turn the two around"),
        Mistake(wrong.keeps_the_parts, "The results still have a dimension for the parts, of size 1.",
                next="sum over dimension 0 without keepdim"),
        Mistake(wrong.signs_crossed, "Looks like exp(lse - lses[i]). A part with a small sum must count little.",
                next=_WEIGHTS),
    ),
    hints=(
        "One part had the sum 3 of all its exp(score), the other the sum 1. What share of the whole has each?",
        "The logs are of the parts' sums. The whole sum is the sum of those, its log torch.logsumexp(lses, 0), and a "
        "part's share is exp(its log - the whole log). An empty part has -inf, and its output may be anything.",
        "lse = torch.logsumexp(lses, 0); weights = torch.exp(lses - lse), with 0 for lse where it is -inf; "
        "outputs.masked_fill((lses == -inf)[..., None], 0.0) times weights[..., None], summed over dimension 0",
    ),
)
