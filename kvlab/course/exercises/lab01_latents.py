"""Lab 01, extra: what a model with latents keeps."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def keys_and_values(layers, latent_dim, rope_dim, bytes_per_number=2):
    return 2 * layers * (latent_dim + rope_dim) * bytes_per_number


def no_position_key(layers, latent_dim, rope_dim, bytes_per_number=2):
    return layers * latent_dim * bytes_per_number


def latent_twice(layers, latent_dim, rope_dim, bytes_per_number=2):
    return layers * (2 * latent_dim + rope_dim) * bytes_per_number


def position_key_twice(layers, latent_dim, rope_dim, bytes_per_number=2):
    return layers * (latent_dim + 2 * rope_dim) * bytes_per_number


def product(layers, latent_dim, rope_dim, bytes_per_number=2):
    return layers * latent_dim * rope_dim * bytes_per_number


def one_layer(layers, latent_dim, rope_dim, bytes_per_number=2):
    return (latent_dim + rope_dim) * bytes_per_number


def one_position_key_for_all_layers(layers, latent_dim, rope_dim, bytes_per_number=2):
    return (layers * latent_dim + rope_dim) * bytes_per_number


def no_brackets(layers, latent_dim, rope_dim, bytes_per_number=2):
    return layers * latent_dim + rope_dim * bytes_per_number


def two_bytes_always(layers, latent_dim, rope_dim, bytes_per_number=2):
    return layers * (latent_dim + rope_dim) * 2


def numbers_not_bytes(layers, latent_dim, rope_dim, bytes_per_number=2):
    return layers * (latent_dim + rope_dim)


def many_heads(layers, latent_dim, rope_dim, bytes_per_number=2):
    return layers * (latent_dim + 128 * rope_dim) * bytes_per_number


LATENT_BYTES_PER_TOKEN = Exercise(
    name="latent_bytes_per_token", lab="01", part="kvlab.memory.latent_bytes_per_token", stars=2, core=False, minutes=8,
    checks=(
        Cases("small model", (3, 7, 2, 1), (1, 8, 4, 4), next="count the numbers one layer keeps for one token"),
        Cases("DeepSeek-V3", (61, 512, 64), next="count the numbers one layer keeps for one token"),
        Cases("8-bit numbers", (61, 512, 64, 1), next="use bytes_per_number"),
    ),
    mistakes=(
        Mistake(keys_and_values,
                "Twice too much: keys and values are both computed from the one latent, so there is no second vector.",
                next="drop the 2 for K and V"),
        Mistake(no_position_key, "The position key is missing: it is kept beside the latent in each layer.",
                next="add rope_dim"),
        Mistake(latent_twice,
                "Counts the latent twice, once for K and once for V. Both are computed from the same one.",
                next="count the latent once"),
        Mistake(position_key_twice,
                "Counts the position key twice. Values carry no position, so there is only the one for keys.",
                next="count rope_dim once"),
        Mistake(product, "Multiplies the two lengths. The vectors lie side by side, so their lengths add up.",
                next="add, then multiply"),
        Mistake(one_layer,
                "Looks like the price in one layer. Every layer keeps a latent and a position key of its own.",
                next="count all layers"),
        Mistake(one_position_key_for_all_layers,
                "Counts one position key for the whole model. Each layer keeps its own.",
                next="put the sum of both in brackets"),
        Mistake(no_brackets,
                "Python multiplies before it adds: here the latent has no bytes and the position key no layers.",
                next="put the sum of both in brackets"),
        Mistake(two_bytes_always, "Takes 2 bytes for every number, although bytes_per_number says how many.",
                next="use bytes_per_number"),
        Mistake(numbers_not_bytes, "Looks like the count of numbers. Each takes bytes_per_number bytes.",
                next="turn numbers into bytes"),
        Mistake(many_heads, "Counts a position key for each of 128 heads. All heads share one.",
                next="leave heads out"),
    ),
    hints=(
        "Which vectors does a layer keep for one token now, and which of the old factors have no place any more?",
        "Per layer one latent and one position key, side by side. No 2 for K and V, and no heads.",
        "layers * (latent_dim + ...) * ...",
    ),
)
