"""`reserve` as beginners write it: the four policies, with a single thing done wrong."""

from __future__ import annotations

from kvlab.errors import UsageError


def _reserve(policy, prompt, answer, context=8192, max_answer=2048, *, cap=True, power=None, unknown=UsageError):
    """The four policies, with room for one thing to go wrong."""
    power = power or (lambda n: 2 ** (n - 1).bit_length())
    slots = {"full": context, "prompt+max": prompt + max_answer,
             "power of two": prompt + power(answer), "oracle": prompt + answer}
    if policy not in slots:
        if unknown is None:
            return None
        raise unknown(policy)
    return min(slots[policy], context) if cap else slots[policy]


def never_capped(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, cap=False)


def oracle_not_capped(policy, prompt, answer, context=8192, max_answer=2048):
    return prompt + answer if policy == "oracle" else _reserve(policy, prompt, answer, context, max_answer)


def power_not_capped(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, cap=policy != "power of two")


def the_larger(policy, prompt, answer, context=8192, max_answer=2048):
    return max(_reserve(policy, prompt, answer, context, max_answer, cap=False), context)


def next_power_doubled(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, power=lambda n: 2 ** n.bit_length())


def power_below(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, power=lambda n: 2 ** (n.bit_length() - 1))


def power_from_two(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, power=lambda n: max(2, 2 ** (n - 1).bit_length()))


def two_to_the_answer(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, power=lambda n: 2**n)


def answer_squared(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, power=lambda n: n**2)


def answer_doubled(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, power=lambda n: 2 * n)


def power_of_the_sum(policy, prompt, answer, context=8192, max_answer=2048):
    if policy == "power of two":
        return min(2 ** (prompt + answer - 1).bit_length(), context)
    return _reserve(policy, prompt, answer, context, max_answer)


def prompt_forgotten(policy, prompt, answer, context=8192, max_answer=2048):
    if policy == "full":
        return context
    return _reserve(policy, 0, answer, context, max_answer)


def knows_the_answer(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, min(max_answer, answer))


def full_plus_prompt(policy, prompt, answer, context=8192, max_answer=2048):
    return prompt + context if policy == "full" else _reserve(policy, prompt, answer, context, max_answer)


def numbers_written_in(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, 8192, 2048)


def max_written_in(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, 2048)


def context_written_in(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, 8192, max_answer)


def power_refused(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve("power" if policy == "power of two" else policy, prompt, answer, context, max_answer)


def maximum_refused(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve("max" if policy == "prompt+max" else policy, prompt, answer, context, max_answer)


def none_for_unknown(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, unknown=None)


def oracle_for_unknown(policy, prompt, answer, context=8192, max_answer=2048):
    known = ("full", "prompt+max", "power of two")
    return _reserve(policy if policy in known else "oracle", prompt, answer, context, max_answer)


def value_error(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, unknown=ValueError)


def key_error(policy, prompt, answer, context=8192, max_answer=2048):
    return _reserve(policy, prompt, answer, context, max_answer, unknown=KeyError)
