"""Lab 11: what a static batch computes. The other exercise has a file of its own."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises.lab11_stream import STREAM_TEXTS


def _widest(batch):
    return max(prompt for prompt, _ in batch)


def _longest(batch):
    return max(answer for _, answer in batch)


def own_tokens(batch):
    return sum(prompt + answer - 1 for prompt, answer in batch)


def prompts_not_padded(batch):
    return sum(prompt for prompt, _ in batch) + len(batch) * (_longest(batch) - 1) if batch else 0


def nobody_waits(batch):
    return len(batch) * _widest(batch) + sum(answer - 1 for _, answer in batch) if batch else 0


def longest_conversation(batch):
    return len(batch) * (max(prompt + answer for prompt, answer in batch) - 1) if batch else 0


def last_token_too(batch):
    return len(batch) * (_widest(batch) + _longest(batch)) if batch else 0


def one_row(batch):
    return _widest(batch) + _longest(batch) - 1 if batch else 0


def prompts_alone(batch):
    return len(batch) * _widest(batch) if batch else 0


def answers_alone(batch):
    return len(batch) * (_longest(batch) - 1) if batch else 0


def last_of_the_sum(batch):
    return len(batch) * (_widest(batch) + _longest(batch)) - 1 if batch else 0


def padding_alone(batch):
    return len(batch) * (_widest(batch) + _longest(batch) - 1) - own_tokens(batch) if batch else 0


def eight_rows(batch):
    return 8 * (_widest(batch) + _longest(batch) - 1) if batch else 0


def last_pair(batch):
    return len(batch) * (sum(max(batch)) - 1) if batch else 0


_MAXIMA = "two maxima, one of prompts and one of answers"

STATIC_TOKENS = Exercise(
    name="static_tokens", lab="11", part="kvlab.serve.ways.static_tokens", stars=1, core=True, minutes=6,
    checks=(
        Cases("prompts of one length, answers of another", ([(10, 4), (10, 4)],), ([(5, 3)],), ([(7, 2)] * 3,),
              next="an answer's last token is not computed"),
        Cases("short prompts are padded", ([(10, 4), (6, 4)],), ([(3, 5), (8, 5), (1, 5)],),
              next="each row is as long as the longest prompt"),
        Cases("whoever has ended waits", ([(10, 4), (10, 9)],), ([(5, 2), (5, 7), (5, 1)],),
              next="each row runs until the longest answer has ended"),
        Cases("longest prompt and longest answer of two requests", ([(20, 2), (4, 30)],), ([(9, 1), (2, 6), (5, 3)],),
              next=_MAXIMA),
        Cases("nobody", ([],), next="return 0 for an empty batch"),
    ),
    mistakes=(
        Mistake(own_tokens, "Counts each request's own tokens. In a static batch every row is padded, and waits.",
                next="first pad the prompts, then let everybody wait for the last"),
        Mistake(prompts_not_padded,
                "Counts the prompts as they are. They are padded to the longest, and padding is computed too.",
                next="each row is as long as the longest prompt"),
        Mistake(nobody_waits,
                "Lets each row stop with its own answer. Its row stays in the batch until the longest has ended.",
                next="each row runs until the longest answer has ended"),
        Mistake(longest_conversation,
                "Takes the longest conversation. The longest prompt and the longest answer can belong to two requests.",
                next=_MAXIMA),
        Mistake(last_pair, "Takes max(batch), which is one pair: the answer of whoever has the longest prompt. Another "
                "answer can be longer.", next=_MAXIMA),
        Mistake(last_token_too,
                "Counts each answer's last token. It is sampled, and nothing follows that would need its keys.",
                next="- 1 in each row"),
        Mistake(last_of_the_sum, "Takes off one token for the whole batch. Each row has a last token.",
                next="- 1 in each row"),
        Mistake(one_row, "Counts one row. Every request has one.", next="multiply by the number of requests"),
        Mistake(eight_rows, "Counts eight rows, however many requests there are. A batch may be smaller.",
                next="multiply by the number of requests"),
        Mistake(prompts_alone, "Leaves out the answers. Each of their tokens goes through the model too.",
                next="add the steps until the longest answer has ended"),
        Mistake(answers_alone, "Leaves out the prompts. They go through the model first.",
                next="add the padded prompts"),
        Mistake(padding_alone, "Counts what is wasted. The question is for all tokens that are computed.",
                next="count every row in full"),
    ),
    hints=(
        "A prompt of 10 tokens has an answer of 4, and one of 6 an answer of 9. How long is each row at the end?",
        "Every row begins with the longest prompt. Then every row gets a token in each step, until the longest answer "
        "has ended. Its last token is sampled and not computed.",
        "len(batch) * (max(prompt for prompt, answer in batch) + max(...) - 1) if batch else 0",
    ),
)

EXERCISES = [STATIC_TOKENS, STREAM_TEXTS]
