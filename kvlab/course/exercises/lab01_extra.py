"""Lab 01, extra exercises: caches that are smaller by design."""

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


def all_windows_full(context, window, window_layers, full_layers):
    return full_layers * context + window_layers * window


def short_ones_dropped(context, window, window_layers, full_layers):
    return full_layers * context + (window_layers * window if context >= window else 0)


def nothing_dropped(context, window, window_layers, full_layers):
    return (full_layers + window_layers) * context


def the_larger(context, window, window_layers, full_layers):
    return full_layers * context + window_layers * max(context, window)


def layers_swapped(context, window, window_layers, full_layers):
    return window_layers * context + full_layers * min(context, window)


def all_layers_windowed(context, window, window_layers, full_layers):
    return (full_layers + window_layers) * min(context, window)


def windows_only(context, window, window_layers, full_layers):
    return window_layers * min(context, window)


def what_is_dropped(context, window, window_layers, full_layers):
    return window_layers * max(0, context - window)


def layers_not_tokens(context, window, window_layers, full_layers):
    return full_layers + window_layers * min(context, window)


def full_layers_only(context, window, window_layers, full_layers):
    return full_layers * context


def kept_outside(context, window, window_layers, full_layers):
    return full_layers * context + window_layers * max(0, context - window)


def per_layer(context, window, window_layers, full_layers):
    return (full_layers * context + window_layers * min(context, window)) / (full_layers + window_layers)


def one_of_each(context, window, window_layers, full_layers):
    return context + min(context, window)


WINDOW_TOKENS = Exercise(
    name="window_tokens", lab="01", part="kvlab.memory.window_tokens", stars=2, core=False, minutes=8,
    checks=(
        Cases("longer than the window", (10, 4, 3, 2), (8192, 1024, 40, 8),
              next="count the full layers and the window layers apart"),
        Cases("shorter than the window", (3, 5, 3, 2), (512, 1024, 40, 8),
              next="treat a conversation shorter than the window"),
        Cases("exactly the window", (4, 4, 3, 2), next="treat a conversation as long as the window"),
        Cases("one kind of layer", (10, 4, 0, 2), (10, 4, 3, 0), next="try a model with layers of one kind only"),
        Cases("empty conversation", (0, 4, 3, 2), next="treat a conversation of 0 tokens"),
    ),
    mistakes=(
        Mistake(all_windows_full,
                "Counts a full window even if the conversation is shorter: 3 tokens leave 3 behind, whatever the "
                "window.",
                next="take the smaller of the two"),
        Mistake(short_ones_dropped,
                "Leaves the window layers out while a conversation is shorter than the window. Then they keep all.",
                next="take the smaller of context and window in every window layer"),
        Mistake(nothing_dropped,
                "Keeps everything in every layer. Window layers drop what lies further back than the window.",
                next="count window layers apart"),
        Mistake(the_larger,
                "Looks like max(): a window layer keeps the smaller of the two, never more than the window.",
                next="use min()"),
        Mistake(layers_swapped,
                "Looks like the two kinds of layers have changed places: the full layers keep everything.",
                next="swap window_layers and full_layers"),
        Mistake(all_layers_windowed, "Cuts the full layers at the window too. They keep the whole conversation.",
                next="count full layers apart"),
        Mistake(windows_only, "The full layers are missing. They keep the whole conversation.",
                next="add full_layers * ..."),
        Mistake(what_is_dropped, "Looks like the tokens that are dropped. The question is for those that are kept.",
                next="count what stays"),
        Mistake(layers_not_tokens, "Adds the number of full layers without their tokens: each keeps `context` of them.",
                next="multiply full_layers by what one keeps"),
        Mistake(full_layers_only, "The window layers are missing. Each keeps the last `window` tokens.",
                next="add window_layers * ..."),
        Mistake(kept_outside, "Counts what lies outside the window. A window layer keeps what lies inside.",
                next="count the last `window` tokens"),
        Mistake(per_layer, "Looks like the average of a layer. The question is for all token-layers together.",
                next="leave the division out"),
        Mistake(one_of_each,
                "Counts one full layer and one window layer. There are full_layers and window_layers of them.",
                next="multiply by the layers of each kind"),
    ),
    hints=(
        "After 3 tokens, how many does a layer with a window of 5 keep, and how many after 10 tokens?",
        "A full layer keeps `context` tokens. A window layer keeps the last `window`, or all if there are fewer.",
        "full_layers * context + window_layers * min(..., ...)",
    ),
)

EXTRA = [LATENT_BYTES_PER_TOKEN, WINDOW_TOKENS]
