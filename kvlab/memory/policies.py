"""How many slots a server without paging sets aside when a request starts."""

from __future__ import annotations

from kvlab.errors import UsageError

from .example import CONTEXT, MAX_ANSWER

POLICIES = ("full", "prompt+max", "power of two", "oracle")


def next_power_of_two(number: int) -> int:
    """The smallest power of two that is at least `number`; 1 for 0 and 1."""
    return 1 << max(0, number - 1).bit_length()


def reserve(policy: str, prompt: int, answer: int, context: int = CONTEXT, max_answer: int = MAX_ANSWER) -> int:
    """Slots that `policy` reserves for a request of `prompt` tokens that `answer` will follow, at most `context`.

    - "full": the model's whole context
    - "prompt+max": the prompt and the longest answer allowed
    - "power of two": the prompt and the next power of two above the answer, a good guess (Kwon et al. 2023, section
      6.1)
    - "oracle": exactly what will be needed, which nobody knows in advance
    """
    if policy not in POLICIES:
        raise UsageError(f"no policy {policy!r}; the four are {', '.join(map(repr, POLICIES))}")
    if prompt < 0 or answer < 0:
        raise UsageError(f"a request cannot have {prompt} prompt and {answer} answer tokens")
    for_answer = {
        "full": context,
        "prompt+max": max_answer,
        "power of two": next_power_of_two(answer),
        "oracle": answer,
    }
    return min(context, prompt + for_answer[policy])
