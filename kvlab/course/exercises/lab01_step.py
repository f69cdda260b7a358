"""Lab 01: how long a decode step takes."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def weights_only(weight_bytes, kv_bytes, bandwidth):
    return weight_bytes / bandwidth


def cache_only(weight_bytes, kv_bytes, bandwidth):
    return kv_bytes / bandwidth


def steps_per_second(weight_bytes, kv_bytes, bandwidth):
    return bandwidth / (weight_bytes + kv_bytes)


def no_brackets(weight_bytes, kv_bytes, bandwidth):
    return weight_bytes + kv_bytes / bandwidth


def at_the_same_time(weight_bytes, kv_bytes, bandwidth):
    return max(weight_bytes, kv_bytes) / bandwidth


def whole_seconds(weight_bytes, kv_bytes, bandwidth):
    return (weight_bytes + kv_bytes) // bandwidth


def int_seconds(weight_bytes, kv_bytes, bandwidth):
    return int((weight_bytes + kv_bytes) / bandwidth)


def milliseconds(weight_bytes, kv_bytes, bandwidth):
    return (weight_bytes + kv_bytes) / bandwidth * 1000


def multiplied(weight_bytes, kv_bytes, bandwidth):
    return (weight_bytes + kv_bytes) * bandwidth


def in_bits(weight_bytes, kv_bytes, bandwidth):
    return (weight_bytes + kv_bytes) * 8 / bandwidth


def bandwidth_in_gb(weight_bytes, kv_bytes, bandwidth):
    return (weight_bytes + kv_bytes) / (bandwidth * 1e9)


def weights_twice(weight_bytes, kv_bytes, bandwidth):
    return (2 * weight_bytes + kv_bytes) / bandwidth


def cache_twice(weight_bytes, kv_bytes, bandwidth):
    return (weight_bytes + 2 * kv_bytes) / bandwidth


DECODE_STEP_SECONDS = Exercise(
    name="decode_step_seconds", lab="01", part="kvlab.memory.decode_step_seconds", stars=2, core=True, minutes=8,
    checks=(
        Cases("small numbers", (6.0, 2.0, 5.0), (20, 10, 8), next="add up what is read, then divide by the rate"),
        Cases("empty cache", (16e9, 0.0, 2e12), next="try an empty cache: only the weights are read"),
        Cases("cache alone", (0.0, 8e9, 2e12), next="try weights of 0 bytes: only the cache is read"),
        Cases("A100", (16.06e9, 1268 * 131_072, 2e12), (16.06e9, 411 * 1268 * 131_072, 2e12),
              next="check the units: bytes, and bytes per second"),
    ),
    mistakes=(
        Mistake(weights_only, "The cache is missing: attention reads all keys and values once in each step too.",
                next="add kv_bytes"),
        Mistake(cache_only, "The weights are missing: each step reads all of them once, whatever the batch.",
                next="add weight_bytes"),
        Mistake(steps_per_second, "Looks like steps per second. The question is for the seconds of one step.",
                next="turn the fraction over"),
        Mistake(no_brackets, "Python divides before it adds: here only kv_bytes are divided by the bandwidth.",
                next="put brackets around the sum"),
        Mistake(at_the_same_time,
                "Looks like max(): as if weights and cache came over two roads. They share one, so their times add up.",
                next="add, then divide"),
        Mistake(whole_seconds,
                "Looks like //, which drops the part after the point. A step takes milliseconds, so all of it is "
                "there.",
                next="use /"),
        Mistake(int_seconds,
                "Looks like int(), which drops the part after the point. A step takes milliseconds, so all is there.",
                next="leave the fraction as it is"),
        Mistake(milliseconds, "A thousand times too long: that is milliseconds. The question is for seconds.",
                next="leave seconds as they are"),
        Mistake(multiplied, "Looks like a product. A faster memory makes the step shorter, so the bandwidth divides.",
                next="use /"),
        Mistake(in_bits, "Eight times too long: that counts bits. Bytes over bytes per second are seconds already.",
                next="leave bits out"),
        Mistake(bandwidth_in_gb, "Takes the bandwidth as GB per second. It is in bytes per second: 2.0e12 for an A100.",
                next="leave the units alone"),
        Mistake(weights_twice, "Reads the weights twice. weight_bytes are bytes already, not parameters.",
                next="take weight_bytes once"),
        Mistake(cache_twice, "Reads the cache twice. kv_bytes counts keys and values together already.",
                next="take kv_bytes once"),
    ),
    hints=(
        "If 60 litres and 40 litres go through a tap that gives 50 litres a second, how long does it take?",
        "One memory delivers everything: weights and cache together. Seconds are bytes over bytes per second.",
        "(weight_bytes + ...) / ...   with the brackets, because Python divides before it adds.",
    ),
)
