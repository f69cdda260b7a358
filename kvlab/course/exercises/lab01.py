"""Lab 01: what a token costs. The four other exercises have a file each: lab01_*.py."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises.lab01_fit import TOKENS_THAT_FIT
from kvlab.course.exercises.lab01_latents import LATENT_BYTES_PER_TOKEN
from kvlab.course.exercises.lab01_step import DECODE_STEP_SECONDS
from kvlab.course.exercises.lab01_window import WINDOW_TOKENS


def keys_only(layers, kv_heads, head_dim, bytes_per_number=2):
    return layers * kv_heads * head_dim * bytes_per_number


def one_layer(layers, kv_heads, head_dim, bytes_per_number=2):
    return 2 * kv_heads * head_dim * bytes_per_number


def one_head(layers, kv_heads, head_dim, bytes_per_number=2):
    return 2 * layers * head_dim * bytes_per_number


def numbers_not_bytes(layers, kv_heads, head_dim, bytes_per_number=2):
    return 2 * layers * kv_heads * head_dim


def two_bytes_always(layers, kv_heads, head_dim, bytes_per_number=2):
    return 2 * layers * kv_heads * head_dim * 2


def one_byte_numbers_and_no_values(layers, kv_heads, head_dim, bytes_per_number=2):
    return layers * kv_heads * head_dim


def bits(layers, kv_heads, head_dim, bytes_per_number=2):
    return 2 * layers * kv_heads * head_dim * bytes_per_number * 8


def query_heads(layers, kv_heads, head_dim, bytes_per_number=2):
    return 2 * layers * 32 * head_dim * bytes_per_number


def kib(layers, kv_heads, head_dim, bytes_per_number=2):
    return 2 * layers * kv_heads * head_dim * bytes_per_number / 1024


def whole_kib(layers, kv_heads, head_dim, bytes_per_number=2):
    return 2 * layers * kv_heads * head_dim * bytes_per_number // 1024


def squared(layers, kv_heads, head_dim, bytes_per_number=2):
    return (layers * kv_heads * head_dim * bytes_per_number) ** 2


BYTES_PER_TOKEN = Exercise(
    name="bytes_per_token", lab="01", part="kvlab.memory.bytes_per_token", stars=1, core=True, minutes=5,
    checks=(
        Cases("small model", (2, 3, 5, 1), (4, 1, 8, 2), next="count the numbers one layer keeps for one token"),
        Cases("GQA, MHA, MQA", (32, 8, 128), (40, 40, 128), (32, 1, 128), (61, 3, 96), next="try MHA, GQA and MQA"),
        Cases("8-bit and 32-bit numbers", (32, 8, 128, 1), (32, 8, 128, 4), next="try numbers of 1 and of 4 bytes"),
    ),
    mistakes=(
        Mistake(keys_only, "Half of it is missing: each layer keeps a key and a value, two vectors of the same length.",
                next="count K and V"),
        Mistake(one_layer, "Looks like the price in one layer. Every layer keeps keys and values of its own.",
                next="count all layers"),
        Mistake(one_head, "Looks like one KV head, which is MQA. Each KV head keeps a key and a value of its own.",
                next="count all KV heads"),
        Mistake(numbers_not_bytes, "Looks like the count of numbers. Each takes bytes_per_number bytes, 2 in bf16.",
                next="turn numbers into bytes"),
        Mistake(two_bytes_always,
                "Takes 2 bytes for every number. With 8-bit keys and values it is 1: use bytes_per_number.",
                next="use bytes_per_number; the other 2 is for K and V"),
        Mistake(one_byte_numbers_and_no_values,
                "Two factors are missing: the key has a value beside it, and each number takes bytes_per_number bytes.",
                next="count K and V, then bytes"),
        Mistake(bits, "Eight times too much: that is bits. bytes_per_number is in bytes already.",
                next="leave bits out"),
        Mistake(query_heads, "Counts 32 heads whatever kv_heads says. Query heads keep nothing; only KV heads do.",
                next="use kv_heads"),
        Mistake(kib, "Looks like KiB. The question is for bytes, so that nothing is rounded before it is used.",
                next="leave the division by 1024 to the one who prints it"),
        Mistake(whole_kib, "Looks like whole KiB. The question is for bytes; rounding to KiB loses some.",
                next="leave the division by 1024 to the one who prints it"),
        Mistake(squared, "Multiplies keys by values. They lie side by side in memory, so their bytes add up.",
                next="twice, not squared"),
    ),
    hints=(
        "In one layer, how many vectors does one token leave behind for one KV head, and how long are they?",
        "Multiply: key and value, times layers, times KV heads, times the numbers in one vector, times the bytes of "
        "one number.",
        "2 * layers * kv_heads * ... * ...   The 2 is for K and V; it has nothing to do with the 2 bytes of bf16.",
    ),
)

EXERCISES = [BYTES_PER_TOKEN, TOKENS_THAT_FIT, DECODE_STEP_SECONDS, LATENT_BYTES_PER_TOKEN, WINDOW_TOKENS]
