"""Lab 02: reserve and waste. Here the policies; every other exercise has a file of its own."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises import lab02_reserve_mistakes as wrong
from kvlab.course.exercises.lab02_arena import FIRST_FIT_ARENA
from kvlab.course.exercises.lab02_compact import COMPACT
from kvlab.course.exercises.lab02_holes import EXTERNAL_FRAGMENTATION
from kvlab.course.exercises.lab02_waste import WASTE_KINDS
from kvlab.errors import UsageError

RESERVE = Exercise(
    name="reserve", lab="02", part="kvlab.memory.reserve", stars=1, core=True, minutes=8,
    checks=(
        Cases("full", ("full", 500, 100), ("full", 20, 10, 1024), next='"full" is the context itself'),
        Cases("prompt+max", ("prompt+max", 500, 100), ("prompt+max", 500, 1500), ("prompt+max", 500, 100, 8192, 512),
              next="add max_answer to the prompt, whatever the answer"),
        Cases("power of two", ("power of two", 500, 100), ("power of two", 500, 64), ("power of two", 500, 65),
              ("power of two", 500, 2), ("power of two", 500, 1), ("power of two", 900, 2000),
              next="round the answer up to 1, 2, 4, 8 and so on, then add the prompt"),
        Cases("oracle", ("oracle", 500, 100), ("oracle", 1, 2048), next="add the true answer to the prompt"),
        Cases("never above the context", ("prompt+max", 7000, 100), ("power of two", 8100, 100), ("oracle", 8100, 100),
              ("prompt+max", 900, 10, 1024), next="cap the result at the context"),
        Cases("unknown policy", ("best guess", 500, 100), ("max", 500, 100), raises=UsageError,
              next="raise UsageError for any other name"),
    ),
    mistakes=(
        Mistake(wrong.never_capped,
                "Reserves more than the context. No request grows longer than that, so nothing beyond is ever used.",
                next="take the smaller of the two"),
        Mistake(wrong.oracle_not_capped,
                "The oracle is not capped: with a long prompt it reserves more than the context. No policy does.",
                next='take the smaller of the two for "oracle" as well'),
        Mistake(wrong.power_not_capped,
                'The "power of two" is not capped: after a long prompt it reserves more than the context.',
                next='take the smaller of the two for "power of two" as well'),
        Mistake(wrong.the_larger,
                "Looks like max(), so everybody gets the whole context at least. It is the most there is.",
                next="use min()"),
        Mistake(wrong.next_power_doubled,
                "Doubles an answer that is a power of two already: for 64 tokens 64 slots are enough.",
                next="treat the exact power of two"),
        Mistake(wrong.power_below, "Rounds down to a power of two, so the end of the answer has no place.",
                next="round up to a power of two"),
        Mistake(wrong.power_from_two, "Starts at 2. One is a power of two as well: 2 ** 0.",
                next="treat an answer of 1 token"),
        Mistake(wrong.two_to_the_answer,
                "Looks like 2 ** answer. Wanted is the answer's length, rounded up to 1, 2, 4, 8 and so on.",
                next="find the first power of two that is at least `answer`"),
        Mistake(wrong.answer_squared, "Looks like answer ** 2, a square. A power of two is 1, 2, 4, 8 and so on.",
                next="find the first power of two that is at least `answer`"),
        Mistake(wrong.answer_doubled,
                "Looks like 2 * answer. A power of two is 1, 2, 4, 8 and so on: for 100 tokens it is 128.",
                next="find the first power of two that is at least `answer`"),
        Mistake(wrong.power_of_the_sum,
                "Rounds prompt and answer together. The prompt is known, so only the answer is rounded up.",
                next="round the answer, then add the prompt"),
        Mistake(wrong.prompt_forgotten,
                "The prompt has no place: its keys and values stay in memory as well as the answer's.",
                next="add the prompt"),
        Mistake(wrong.knows_the_answer, '"prompt+max" looks at `answer`, which nobody knows when the request starts.',
                next="use max_answer, whatever the answer"),
        Mistake(wrong.full_plus_prompt, 'Adds the prompt to the context. The context is prompt and answer together.',
                next='"full" is the context itself'),
        Mistake(wrong.numbers_written_in,
                "Works for 8192 and 2048 only. The limits come as arguments: context and max_answer.",
                next="use context and max_answer"),
        Mistake(wrong.max_written_in, "Works for answers up to 2048 only. The limit comes as an argument: max_answer.",
                next="use max_answer"),
        Mistake(wrong.context_written_in, "Works for a context of 8192 only. The limit comes as an argument: context.",
                next="use context"),
        Mistake(wrong.power_refused,
                'Refuses "power of two", which is one of the four. Names are compared letter by letter.',
                next='write "power of two", with spaces'),
        Mistake(wrong.maximum_refused,
                'Refuses "prompt+max", which is one of the four. Names are compared letter by letter.',
                next='write "prompt+max", without spaces'),
        Mistake(wrong.none_for_unknown,
                "An unknown policy is answered with None. A typo would show much later, somewhere else.",
                next="raise UsageError for any other name"),
        Mistake(wrong.oracle_for_unknown,
                "Takes any other name for the oracle, by a last else. A typo would pass as a result.",
                next="raise UsageError for any other name"),
        Mistake(wrong.value_error,
                "Refuses, but by another name. The course's callers catch UsageError, which says that the call was "
                "wrong.",
                next="raise UsageError instead of ValueError"),
        Mistake(wrong.key_error,
                "Refuses, but by another name. The course's callers catch UsageError, which says that the call was "
                "wrong.",
                next="raise UsageError instead of KeyError"),
    ),
    hints=(
        "A prompt of 500, an answer of 100: what does each of the four reserve? And if the prompt is 7,000?",
        "Work out the four sums one by one, and cap each at the context. For the power of two, double 1 until it is "
        "at least `answer`.",
        'if policy == "prompt+max": return min(prompt + max_answer, context)   and so on; '
        "after the fourth, raise UsageError. "
        "A power of two: size = 1, then while size < answer: size *= 2.",
    ),
)

EXERCISES = [RESERVE, WASTE_KINDS, FIRST_FIT_ARENA, EXTERNAL_FRAGMENTATION, COMPACT]
