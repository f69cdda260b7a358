"""Lab 01, extra: what a model with sliding windows keeps."""

from __future__ import annotations

from kvlab.course.declare import Cases, Exercise, Mistake


def all_windows_full(context, window, window_layers, full_layers):
    return full_layers * context + window_layers * window


def short_ones_dropped(context, window, window_layers, full_layers):
    return full_layers * context + (window_layers * window if context >= window else 0)


def as_long_as_the_window_dropped(context, window, window_layers, full_layers):
    return full_layers * context + (window_layers * window if context > window else 0)


def full_layers_forgotten_when_short(context, window, window_layers, full_layers):
    return (full_layers * context if context >= window else 0) + window_layers * min(context, window)


def full_layers_forgotten_up_to_the_window(context, window, window_layers, full_layers):
    return (full_layers * context if context > window else 0) + window_layers * min(context, window)


def one_layer_when_short(context, window, window_layers, full_layers):
    return full_layers * context + window_layers * window if context >= window else context


def one_layer_up_to_the_window(context, window, window_layers, full_layers):
    return full_layers * context + window_layers * window if context > window else context


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
        Mistake(as_long_as_the_window_dropped,
                "Leaves the window layers out while a conversation is no longer than the window. Then they keep all.",
                next="take the smaller of context and window in every window layer"),
        Mistake(full_layers_forgotten_when_short,
                "Leaves the full layers out while a conversation is shorter than the window. They keep all of it, "
                "always.",
                next="add full_layers * context in every case"),
        Mistake(full_layers_forgotten_up_to_the_window,
                "Leaves the full layers out while a conversation is no longer than the window. They always keep all.",
                next="add full_layers * context in every case"),
        Mistake(one_layer_when_short,
                "Counts one layer while a conversation is shorter than the window. Then every layer keeps all of it.",
                next="count the layers of both kinds in every case"),
        Mistake(one_layer_up_to_the_window,
                "Counts one layer while a conversation is no longer than the window. Then every layer keeps all of it.",
                next="count the layers of both kinds in every case"),
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
