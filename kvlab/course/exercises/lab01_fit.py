"""Lab 01: how many tokens fit into the memory."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def not_floored(memory_bytes, bytes_per_token):
    return memory_bytes / bytes_per_token


def rounded_up(memory_bytes, bytes_per_token):
    return -(-memory_bytes // bytes_per_token)


def to_nearest(memory_bytes, bytes_per_token):
    return round(memory_bytes / bytes_per_token)


def upside_down(memory_bytes, bytes_per_token):
    return bytes_per_token // memory_bytes


def upside_down_float(memory_bytes, bytes_per_token):
    return bytes_per_token / memory_bytes


def gigabytes(memory_bytes, bytes_per_token):
    return int(memory_bytes * 1e9 // bytes_per_token)


def gibibytes(memory_bytes, bytes_per_token):
    return memory_bytes * 2**30 // bytes_per_token


def kib_a_token(memory_bytes, bytes_per_token):
    return memory_bytes // (bytes_per_token * 1024)


def memory_in_gib(memory_bytes, bytes_per_token):
    return memory_bytes // 2**30 // bytes_per_token


def memory_in_parts_of_gib(memory_bytes, bytes_per_token):
    return memory_bytes / 2**30 // bytes_per_token


def price_written_in(memory_bytes, bytes_per_token):
    return memory_bytes // 131_072


def halved(memory_bytes, bytes_per_token):
    return memory_bytes // (2 * bytes_per_token)


def what_is_left(memory_bytes, bytes_per_token):
    return memory_bytes % bytes_per_token


def floor_float(memory_bytes, bytes_per_token):
    return memory_bytes / bytes_per_token // 1


TOKENS_THAT_FIT = Exercise(
    name="tokens_that_fit", lab="01", part="kvlab.memory.tokens_that_fit", stars=1, core=True, minutes=3,
    checks=(
        Cases("values", (1000, 128), (700, 100), (10_000, 300), next="round down: a token fits whole or not at all"),
        Cases("exact fit", (1024, 128), (64 * 2**30, 131_072), next="treat memory that is filled exactly"),
        Cases("no room", (100, 128), (0, 128), next="treat memory smaller than one token"),
    ),
    mistakes=(
        Mistake(not_floored,
                "Looks like /, which gives a float with a part of a token. Tokens are counted in whole numbers.",
                next="use //, which rounds down to an int"),
        Mistake(rounded_up, "Rounds up, so the last token lies partly outside the memory.", next="round down"),
        Mistake(to_nearest, "Looks like round(), which goes up from .5 on: the last token would not fit whole.",
                next="round down, always"),
        Mistake(upside_down, "Looks like the two numbers have changed places.",
                next="divide the memory by the price of a token"),
        Mistake(upside_down_float, "Looks like the two numbers have changed places.",
                next="divide the memory by the price of a token, with //"),
        Mistake(gigabytes, "Multiplies the memory by 1e9. It is given in bytes already, as its name says.",
                next="leave the units alone"),
        Mistake(gibibytes, "Multiplies the memory by 2**30. It is given in bytes already, as its name says.",
                next="leave the units alone"),
        Mistake(kib_a_token, "Divides by 1024 as well. Both numbers are in bytes already, as their names say.",
                next="leave the units alone"),
        Mistake(memory_in_gib,
                "Turns the memory into GiB. The price is in bytes, so the memory has to be in bytes too.",
                next="leave the units alone"),
        Mistake(memory_in_parts_of_gib,
                "Turns the memory into GiB. The price is in bytes, so the memory has to be in bytes too.",
                next="leave the units alone"),
        Mistake(price_written_in, "Works for a token of 128 KiB only. The price comes as an argument.",
                next="use bytes_per_token in place of a number"),
        Mistake(halved, "Halves the result. bytes_per_token counts keys and values already.",
                next="take the price as it is"),
        Mistake(what_is_left, "Looks like %, the bytes that are left over. The question is how many tokens fit.",
                next="use //"),
        Mistake(floor_float,
                "The value is right, but it is a float. Tokens are counted in whole numbers: // on two ints gives an "
                "int.",
                next="use // alone"),
    ),
    hints=(
        "If 1,000 bytes are there and a token costs 128, how many whole tokens can you place?",
        "Divide the memory by the price of one token and drop what is after the point.",
        "// divides and rounds down in one step: memory_bytes // ...",
    ),
)
