"""Lab 02: what the slots of a reservation hold."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def final_length(prompt, answer, generated, allocated):
    return prompt + answer, 0, allocated - prompt - answer


def prompt_not_held(prompt, answer, generated, allocated):
    return generated, answer - generated, allocated - answer


def prompt_not_held_only(prompt, answer, generated, allocated):
    return generated, answer - generated, allocated - prompt - answer


def all_empty_is_later(prompt, answer, generated, allocated):
    return prompt + generated, allocated - prompt - generated, 0


def later_is_all_empty(prompt, answer, generated, allocated):
    return prompt + generated, allocated - prompt - generated, allocated - prompt - answer


def all_empty_is_internal(prompt, answer, generated, allocated):
    return prompt + generated, 0, allocated - prompt - generated


def counted_twice(prompt, answer, generated, allocated):
    return prompt + generated, answer - generated, allocated - prompt - generated


def order_swapped(prompt, answer, generated, allocated):
    return prompt + generated, allocated - prompt - answer, answer - generated


def whole_answer_later(prompt, answer, generated, allocated):
    return prompt + generated, answer, allocated - prompt - answer - generated


def whole_answer_later_only(prompt, answer, generated, allocated):
    return prompt + generated, answer, allocated - prompt - answer


def internal_without_prompt(prompt, answer, generated, allocated):
    return prompt + generated, answer - generated, allocated - answer


def as_shares(prompt, answer, generated, allocated):
    return (prompt + generated) / allocated, (answer - generated) / allocated, (allocated - prompt - answer) / allocated


def internal_negative(prompt, answer, generated, allocated):
    return prompt + generated, answer - generated, prompt + answer - allocated


def prompt_only(prompt, answer, generated, allocated):
    return prompt, answer, allocated - prompt - answer


def answer_held(prompt, answer, generated, allocated):
    return prompt + answer, answer - generated, allocated - prompt - answer


def generated_not_held(prompt, answer, generated, allocated):
    return prompt, answer - generated, allocated - prompt - answer


def later_added_back(prompt, answer, generated, allocated):
    return prompt + generated, answer - generated, allocated - (prompt + generated) + (answer - generated)


def later_negative(prompt, answer, generated, allocated):
    return prompt + generated, generated - answer, allocated - prompt - answer


WASTE_KINDS = Exercise(
    name="waste_kinds", lab="02", part="kvlab.memory.waste_kinds", stars=2, core=True, minutes=8,
    checks=(
        Cases("while it runs", (10, 5, 2, 20), (500, 100, 40, 2548),
              next="draw the allocated slots as a bar and mark where each part ends"),
        Cases("before the first token", (500, 100, 0, 2548), next="treat the moment before the first token"),
        Cases("at the end", (500, 100, 100, 2548), next="treat the moment after the last token"),
        Cases("nothing over", (500, 100, 40, 600), (500, 1, 1, 501), next="treat a reservation that is exactly right"),
    ),
    mistakes=(
        Mistake(final_length,
                "Looks like the end of the request's life. Held is what has been written by now: prompt and "
                "`generated` tokens.",
                next="use generated for what is held"),
        Mistake(answer_held,
                "Counts the whole answer as held. By now `generated` of its tokens exist; the others come later.",
                next="use generated for what is held"),
        Mistake(generated_not_held,
                "What is written of the answer is missing in `held`. Its keys and values are there as the prompt's "
                "are.",
                next="add generated to what is held"),
        Mistake(prompt_not_held, "The prompt is missing. Its keys and values are held from the first step on.",
                next="add the prompt to what is held"),
        Mistake(prompt_not_held_only,
                "The prompt is missing in `held`. Its keys and values are there from the first step on.",
                next="add the prompt to what is held"),
        Mistake(all_empty_is_later,
                "Counts all empty slots as later. Only answer - generated of them will ever be used.",
                next="split the empty slots in two"),
        Mistake(later_is_all_empty,
                "Takes allocated - held for later. Only the rest of the answer comes later; the others are internal.",
                next="subtract generated from answer"),
        Mistake(all_empty_is_internal,
                "Counts all empty slots as never used. The rest of the answer will use some of them.",
                next="split the empty slots in two"),
        Mistake(counted_twice,
                "The three add up to more than allocated: slots that will be used later are counted as internal too.",
                next="let the three add up to allocated"),
        Mistake(order_swapped, "Looks like later and internal have changed places.",
                next="return held, later, internal in this order"),
        Mistake(whole_answer_later, "Counts the whole answer as later. `generated` of its tokens are there already.",
                next="subtract generated"),
        Mistake(whole_answer_later_only,
                "Counts the whole answer as later. `generated` of its tokens are there already.",
                next="subtract generated"),
        Mistake(internal_without_prompt, "Counts the prompt's slots as internal. They are held.",
                next="let the three add up to allocated"),
        Mistake(as_shares, "Looks like shares of the allocation. The question is for slots, whole numbers.",
                next="leave the division out"),
        Mistake(later_added_back,
                "Adds later back: a - (b - c) is a - b + c. Internal is allocated, less held, and less later.",
                next="let the three add up to allocated"),
        Mistake(later_negative, "Subtracts the wrong way round: later is the answer less what is generated.",
                next="turn the subtraction around"),
        Mistake(internal_negative,
                "Subtracts the wrong way round: internal is what is allocated beyond prompt and answer.",
                next="turn the subtraction around"),
        Mistake(prompt_only, "Stays at the first moment. As the answer grows, slots move from later to held.",
                next="use generated"),
    ),
    hints=(
        "2,548 slots, a prompt of 500, an answer of 100 of which 40 are written: how many slots hold something, and "
        "how many ever will?",
        "Three pieces side by side: what is written, the rest of the answer, and everything beyond. Together they are "
        "`allocated`.",
        "held = prompt + ...; later = answer - ...; internal = allocated - held - later",
    ),
)
