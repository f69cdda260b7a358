"""Answers to the exercises of lab 02 as learners give them; the wrong ones with what the verdict must say."""

from tests.exercises.lab01_answers import given, wrong
from tests.exercises.lab02_arenas import RIGHT_ARENAS, WRONG_ARENAS

_RESERVE = "reserve(policy, prompt, answer, context=8192, max_answer=2048)"
_WASTE = "waste_kinds(prompt, answer, generated, allocated)"
_HOLES = "external_fragmentation(holes)"
_COMPACT = "compact(chunks)"


def policies(full: str = "context", maximum: str = "prompt + max_answer",
             power: str = "prompt + 2 ** (answer - 1).bit_length()", oracle: str = "prompt + answer",
             unknown: str = "raise UsageError(policy)", result: str = "min(slots, context)") -> str:
    """`reserve` with one place changed."""
    return f"""
def {_RESERVE}:
    if policy == "full":
        slots = {full}
    elif policy == "prompt+max":
        slots = {maximum}
    elif policy == "power of two":
        slots = {power}
    elif policy == "oracle":
        slots = {oracle}
    else:
        {unknown}
    return {result}
"""


RIGHT = {
    "reserve": [
        policies(),
        """
        import math
        def reserve(policy, prompt, answer, context=8192, max_answer=2048):
            match policy:
                case "full":
                    return context
                case "prompt+max":
                    needed = prompt + max_answer
                case "power of two":
                    needed = prompt + 2 ** math.ceil(math.log2(answer))
                case "oracle":
                    needed = prompt + answer
                case other:
                    raise UsageError("unknown policy " + other)
            return needed if needed < context else context
        """,
        """
        def reserve(policy, prompt, answer, context=8192, max_answer=2048):
            size = 1
            while size < answer:
                size *= 2
            room = {"full": context, "prompt+max": max_answer, "power of two": size, "oracle": answer}
            if policy not in room:
                raise UsageError(f"{policy} is not one of {list(room)}")
            return min(context, prompt + room[policy])
        """,
        """
        class UnknownPolicy(UsageError):
            pass
        def reserve(policy, prompt, answer, context=8192, max_answer=2048):
            guesses = {"prompt+max": max_answer, "power of two": 1 << (answer - 1).bit_length(), "oracle": answer}
            if policy == "full":
                return context
            try:
                return min(prompt + guesses[policy], context)
            except KeyError:
                raise UsageError(policy) from None
        """,
    ],
    "waste_kinds": given(
        _WASTE,
        "held = prompt + generated\nlater = answer - generated\nreturn held, later, allocated - held - later",
        "return [prompt + generated, answer - generated, allocated - (prompt + answer)]",
        "import numpy as np\nreturn tuple(np.diff([0, prompt + generated, prompt + answer, allocated]))",
        "final = min(prompt + answer, allocated)\n"
        "return prompt + generated, final - prompt - generated, allocated - final",
    ),
    "external_fragmentation": given(
        _HOLES,
        "total = sum(size for start, size in holes)\nif total == 0:\n    return 0.0\n"
        "return (total - max(size for start, size in holes)) / total",
        "if not holes:\n    return 0\nlargest = max(holes, key=lambda hole: hole[1])[1]\n"
        "return 1 - largest / sum(h[1] for h in holes)",
        "import numpy as np\nsizes = np.array([h[1] for h in holes])\n"
        "return 1 - sizes.max() / sizes.sum() if len(sizes) else 0.0",
        "sizes = sorted(s for _, s in holes)\nreturn sum(sizes[:-1]) / max(1, sum(sizes))",
    ),
    "compact": given(
        _COMPACT,
        "moves, end, moved = [], 0, 0\nfor start, size in sorted(chunks):\n    if start > end:\n"
        "        moves.append((start, end, size))\n        moved += size\n    end = end + size\nreturn moves, moved",
        "moves, to = [], 0\nfor start, size in sorted(chunks, key=lambda c: c[0]):\n    if start != to:\n"
        "        moves.append([start, to, size])\n    to += size\nreturn [moves, sum(m[2] for m in moves)]",
        "left = list(chunks)\nleft.sort()\nmoves = []\nfor i, (start, size) in enumerate(left):\n"
        "    to = sum(s for _, s in left[:i])\n    if to < start:\n        moves.append((start, to, size))\n"
        "return moves, sum(size for *_, size in moves)",
    ),
    "FirstFitArena": RIGHT_ARENAS,
}

WRONG = {
    "reserve": [
        (policies(result="slots"), "more than the context"),
        (policies(result="slots if policy == 'oracle' else min(slots, context)"), "The oracle is not capped"),
        (policies(result="slots if policy == 'power of two' else min(slots, context)"),
         "The \"power of two\" is not capped"),
        (policies(result="slots if policy in ('oracle', 'power of two') else min(slots, context)"),
         "Reserves more than the context"),
        (policies(result="max(slots, context)"), "Looks like max()"),
        (policies(power="prompt + 2 * answer"), "Looks like 2 * answer"),
        (policies().replace('"power of two"', '"power_of_two"'), "Next: write \"power of two\", with spaces"),
        (policies().replace('"prompt+max"', '"prompt + max"'), "Next: write \"prompt+max\", without spaces"),
        (policies(power="prompt + 2 ** answer.bit_length()"), "a power of two already"),
        (policies(power="prompt + 2 ** (answer.bit_length() - 1)"), "Rounds down to a power of two"),
        (policies(power="2 ** (prompt + answer - 1).bit_length()"), "Rounds prompt and answer together"),
        (policies(power="2 ** (prompt + answer - 1).bit_length()", unknown="slots = 0", result="slots"),
         "Rounds prompt and answer together"),
        (policies(power="prompt + 2 ** answer.bit_length()", unknown="pass", result="slots"), "a power of two already"),
        (policies(power="prompt + 2 ** answer"), "Looks like 2 ** answer"),
        (policies(power="prompt + answer ** 2"), "Looks like answer ** 2"),
        (policies(maximum="prompt + min(answer, max_answer)"), "nobody knows"),
        (policies(maximum="prompt + answer"), "nobody knows"),
        (policies(maximum="max_answer", power="2 ** (answer - 1).bit_length()", oracle="answer"),
         "The prompt has no place"),
        (policies(full="prompt + context", result="min(slots, prompt + context)"), "expected 8192"),
        (policies(maximum="prompt + 2048"), "the limit comes as an argument: max_answer"),
        (policies(full="8192", result="min(slots, 8192)"), "the limit comes as an argument: context"),
        (policies(unknown="return None"), "answered with None"),
        (policies(unknown="raise ValueError(policy)"), "raise UsageError instead of ValueError"),
        (policies(unknown="raise Exception('what')"), "raised Exception: what, expected UsageError"),
        (policies(unknown="print('unknown policy')").replace("else:\n        print",
         "else:\n        slots = 0\n        print"),
         "returned 0, expected"),
        (policies(power="prompt + 2 ** __import__('math').log2(answer)"), "(a float)"),
        (policies(oracle="prompt + max_answer"), "expected 600"),
        ("def reserve(policy, prompt, answer, context=8192, max_answer=2048):\n    if policy == 'full':\n"
         "        return context",
         "is a `return` missing?"),
        ("def reserve(policy, prompt, answer):\n    return 8192", "called as reserve(policy"),
    ],
    "waste_kinds": wrong(
        _WASTE,
        ("return prompt + answer, 0, allocated - prompt - answer", "the end of the request's life"),
        ("return generated, answer - generated, allocated - answer", "The prompt is missing"),
        ("return prompt + generated, allocated - prompt - generated, 0", "Counts all empty slots as later"),
        ("held = prompt + generated\nreturn held, allocated - held, allocated - prompt - answer",
         "Takes allocated - held for later"),
        ("return prompt + generated, 0, allocated - prompt - generated", "Counts all empty slots as never used"),
        ("return prompt + generated, answer - generated, allocated - (prompt + generated)",
         "add up to more than allocated"),
        ("return prompt + generated, allocated - prompt - answer, answer - generated", "changed places"),
        ("return prompt + generated, answer, allocated - prompt - generated - answer", "whole answer as later"),
        ("return prompt + generated, answer - generated, prompt + answer - allocated", "wrong way round"),
        ("return prompt + answer, answer - generated, allocated - prompt - answer", "Counts the whole answer as held"),
        ("return prompt, answer - generated, allocated - prompt - answer", "What is written of the answer is missing"),
        ("held = prompt + generated\nlater = answer - generated\nreturn held, later, allocated - (held - later)",
         "Adds later back"),
        ("return prompt + generated, generated - answer, allocated - prompt - answer", "later is the answer less"),
        ("return prompt + generated, answer - generated", "returned 2 items, (12, 3), expected 3"),
        ("held = prompt + generated\nprint(held, answer - generated, allocated - prompt - answer)", "returned nothing"),
        ("return {'held': prompt + generated, 'later': answer - generated, 'internal': allocated - prompt - answer}",
         "(a dict)"),
        ("return (prompt + generated) / allocated, (answer - generated) / allocated, 1 - (prompt + answer) / allocated",
         "shares of the allocation"),
        ("return prompt + generated + answer - generated + allocated - prompt - answer", "returned 20"),
        ("return answer - generated, prompt + generated, allocated - prompt - answer", "returned (3, 12, 5)"),
    ),
    "external_fragmentation": wrong(
        _HOLES,
        ("sizes = [s for _, s in holes]\nreturn 1 - max(sizes) / sum(sizes)", "max() of an empty list"),
        ("sizes = [s for _, s in holes]\nreturn max(sizes) / sum(sizes) if sizes else 0.0", "inside the largest hole"),
        ("sizes = [s for _, s in holes]\nreturn 100 * max(sizes) / sum(sizes) if sizes else 0.0",
         "inside the largest hole, in percent"),
        ("return 1 - max(holes)[1] / sum(s for _, s in holes) if holes else 0.0", "compares starts first"),
        ("return 1 - 1 / len(holes) if holes else 0.0", "Counts holes"),
        ("return len(holes)", "expected 0.4"),
        ("sizes = [s for _, s in holes]\nreturn 1 - max(sizes) // sum(sizes) if sizes else 0.0", "Looks like //"),
        ("sizes = [s for _, s in holes]\nreturn 100 * (1 - max(sizes) / sum(sizes)) if sizes else 0.0",
         "Looks like percent"),
        ("sizes = [s for _, s in holes]\nreturn 1 - min(sizes) / sum(sizes) if sizes else 0.0", "Looks like min()"),
        ("sizes = [s for _, s in holes]\nreturn 1 - sizes[0] / sum(sizes) if sizes else 0.0", "Takes the first hole"),
        ("sizes = [s for s, _ in holes]\nreturn 1 - max(sizes) / sum(sizes) if sizes and sum(sizes) else 0.0",
         "Looks at the starts"),
        ("return 1 - max(holes) / sum(holes) if holes else 0.0", "TypeError"),
        ("sizes = [s for _, s in holes]\nif sizes:\n    return 1 - max(sizes) / sum(sizes)", "returned nothing (None)"),
        ("sizes = [s for _, s in holes]\nprint(1 - max(sizes) / sum(sizes))", "printed 0.4 and returned nothing"),
        ("return 1 - holes[-1][1] / sum(s for _, s in holes) if holes else 0.0", "the hole that lies highest"),
        ("sizes = [s for _, s in holes]\nif not sizes:\n    return 0.0\nreturn sum(sizes) - max(sizes) / sum(sizes)",
         "Python divides before it subtracts"),
        ("sizes = [s for _, s in holes]\nif not sizes:\n    return 0.0\nsizes.remove(max(sizes))\n"
         "return sum(sizes) / sum(sizes)", "Divides by what is left"),
        ("sizes = [s for _, s in holes]\nif not sizes:\n    return 0.0\nlargest = max(sizes)\n"
         "return sum(s for s in sizes if s < largest) / sum(sizes)", "as large as the largest"),
        ("sizes = [end - start for start, end in holes]\nreturn 1 - max(sizes) / sum(sizes) if sizes else 0.0",
         "(start, size) for (start, end)"),
        ("sizes = [s for _, s in holes]\nreturn round(1 - max(sizes) / sum(sizes), 2) if sizes else 0.0",
         "Next: do not round"),
        ("sizes = [s for _, s in holes]\nreturn sum(sizes) - max(sizes) if sizes else 0.0",
         "their part of all free slots"),
    ),
    "compact": wrong(
        _COMPACT,
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    moves.append((start, to, size))\n    to += size\n"
         "return moves, sum(m[2] for m in moves)", "pieces that stay"),
        ("moves, to = [], 0\nfor start, size in chunks:\n    if start != to:\n"
         "        moves.append((start, to, size))\n    to += size\n"
         "return moves, sum(m[2] for m in moves)", "in the order of the list"),
        ("chunks.sort()\nmoves, to = [], 0\nfor start, size in chunks:\n    if start != to:\n"
         "        moves.append((start, to, size))\n"
         "    to += size\nreturn moves, sum(m[2] for m in moves)", "changes the caller's list"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.append((start, to, size))\n    to += size\n"
         "return moves, len(moves)", "Counts moves"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.append((start, to, size))\n    to += size\n"
         "return moves", "Gives the moves alone"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.append((to, start, size))\n    to += size\n"
         "return moves, sum(m[2] for m in moves)", "from and to have changed places"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.append((start, to, size))\n        to += size\n"
         "return moves, sum(m[2] for m in moves)", "One that stays takes room too"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.append((start, to))\n    to += size\n"
         "return moves, 0", "a move has three numbers. Until"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks, reverse=True):\n    if start != to:\n"
         "        moves.append((start, to, size))\n"
         "    to += size\nreturn moves, sum(m[2] for m in moves)", "Starts with the highest piece"),
        ("moves, to = [], 0\nfor start, size in chunks:\n    if start > to:\n"
         "        moves.append((start, to, size))\n    to += size\n"
         "return moves, sum(m[2] for m in moves)", "in the order of the list"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks, key=lambda c: c[1], reverse=True):\n"
         "    if start != to:\n        moves.append((start, to, size))\n    to += size\n"
         "return moves, sum(m[2] for m in moves)", "Puts the longest piece first"),
        ("moves, end = [], 0\nfor start, size in sorted(chunks):\n    if start != end:\n"
         "        moves.append((start, end, size))\n    end = start + size\n"
         "return moves, sum(m[2] for m in moves)", "That one has moved to the left as well"),
        ("moves, to = [], sorted(chunks)[0][0] if chunks else 0\nfor start, size in sorted(chunks):\n"
         "    if start != to:\n        moves.append((start, to, size))\n    to += size\n"
         "return moves, sum(m[2] for m in moves)", "Leaves the first piece where it is"),
        ("moves, moved, to = [], 0, 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.append((start, to, to + size))\n        moved += size\n    to += size\n"
         "return moves, moved", "The third number says where a move ends"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.insert(0, (start, to, size))\n"
         "    to += size\nreturn moves, sum(m[2] for m in moves)", "has still to move"),
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.append((start, to, size))\n    to += size\n"
         "return moves, sum(m[0] - m[1] for m in moves)", "the moves are right, the number of tokens is not."),
        ("moves, to = [], 0\nfor start, size in sorted(chunks):\n    if start != to:\n"
         "        moves.append((start, to, size))\n    to += size\n"
         "print(moves)", "returned nothing"),
    ),
    "FirstFitArena": WRONG_ARENAS,
}
