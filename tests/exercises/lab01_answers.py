"""Answers to the exercises of lab 01 as learners give them; the wrong ones with what the verdict must say."""


def given(signature: str, *bodies: str) -> list[str]:
    """One definition for each body (an expression, or lines that end in a return)."""
    lines = [body if "return" in body or "print" in body else f"return {body}" for body in bodies]
    return [f"def {signature}:\n" + "\n".join("    " + line for line in body.split("\n")) for body in lines]


def wrong(signature: str, *answers: tuple[str, str]) -> list[tuple[str, str]]:
    """The same, with the text that the verdict must hold."""
    return [(given(signature, body)[0], text) for body, text in answers]


_TOKEN = "bytes_per_token(layers, kv_heads, head_dim, bytes_per_number=2)"
_FIT = "tokens_that_fit(memory_bytes, bytes_per_token)"
_STEP = "decode_step_seconds(weight_bytes, kv_bytes, bandwidth)"
_LATENT = "latent_bytes_per_token(layers, latent_dim, rope_dim, bytes_per_number=2)"
_WINDOW = "window_tokens(context, window, window_layers, full_layers)"

RIGHT = {
    "bytes_per_token": given(
        _TOKEN,
        "layers * (kv_heads * head_dim + kv_heads * head_dim) * bytes_per_number",
        "k = layers * kv_heads * head_dim * bytes_per_number\nv = k\nreturn k + v",
        "import numpy as np\nreturn 2 * np.prod([layers, kv_heads, head_dim, bytes_per_number])",
        "total = 0\nfor layer in range(layers):\n    for head in range(kv_heads):\n"
        "        total += 2 * head_dim * bytes_per_number\nreturn total",
    ),
    "tokens_that_fit": given(
        _FIT,
        "import math\nreturn math.floor(memory_bytes / bytes_per_token)",
        "int(memory_bytes / bytes_per_token)",
        "divmod(memory_bytes, bytes_per_token)[0]",
        "(memory_bytes - memory_bytes % bytes_per_token) // bytes_per_token",
    ),
    "decode_step_seconds": given(
        _STEP,
        "weight_bytes / bandwidth + kv_bytes / bandwidth",
        "import numpy as np\nreturn np.float64(weight_bytes + kv_bytes) / bandwidth",
        "sum([weight_bytes, kv_bytes]) * (1 / bandwidth)",
        "1 / (bandwidth / (weight_bytes + kv_bytes))",
    ),
    "latent_bytes_per_token": given(
        _LATENT,
        "layers * latent_dim * bytes_per_number + layers * rope_dim * bytes_per_number",
        "sum((latent_dim + rope_dim) * bytes_per_number for _ in range(layers))",
        "per_layer = latent_dim + rope_dim\nreturn per_layer * layers * bytes_per_number",
    ),
    "window_tokens": given(
        _WINDOW,
        "kept = context if context < window else window\nreturn full_layers * context + window_layers * kept",
        "sum([context] * full_layers + [min(window, context)] * window_layers)",
        "(full_layers + window_layers) * context - window_layers * max(0, context - window)",
    ),
}

WRONG = {
    "bytes_per_token": wrong(
        _TOKEN,
        ("layers * kv_heads * head_dim * bytes_per_number", "a key and a value"),
        ("kv_heads * head_dim * bytes_per_number * 2", "price in one layer"),
        ("2 * layers * head_dim * bytes_per_number", "looks like one KV head"),
        ("2 * layers * kv_heads * head_dim", "count of numbers"),
        ("4 * layers * kv_heads * head_dim", "Takes 2 bytes for every number"),
        ("2 * layers * kv_heads * head_dim * bytes_per_number / 1024", "Looks like KiB"),
        ("2 * layers * kv_heads * head_dim * bytes_per_number // 1024", "whole KiB"),
        ("2 * layers * 32 * head_dim * bytes_per_number", "Query heads keep nothing"),
        ("2 * layers * heads * head_dim * bytes_per_number", "name 'heads' is not defined"),
        ("2 * layers + kv_heads * head_dim * bytes_per_number", "returned 19, expected 60"),
        ("16 * layers * kv_heads * head_dim * bytes_per_number", "that is bits"),
        ("print(2 * layers * kv_heads * head_dim * bytes_per_number)", "printed 60 and returned nothing"),
        ("return float(2 * layers * kv_heads * head_dim * bytes_per_number)",
         "returned 60.0 (a float), expected 60 (an int)"),
        ("131072", "returned 131072, expected 60"),
        ("layers * kv_heads * head_dim * bytes_per_number ** 2", "returned 30, expected 60"),
    ),
    "tokens_that_fit": wrong(
        _FIT,
        ("memory_bytes / bytes_per_token", "Looks like /"),
        ("round(memory_bytes / bytes_per_token)", "Looks like round()"),
        ("import math\nreturn math.ceil(memory_bytes / bytes_per_token)", "Rounds up"),
        ("memory_bytes // bytes_per_token + 1", "returned 8, expected 7"),
        ("bytes_per_token // memory_bytes", "changed places"),
        ("bytes_per_token / memory_bytes", "changed places"),
        ("memory_bytes // (1e9 * bytes_per_token)", "(a float), expected 7 (an int)"),
        ("memory_bytes * 1e9 // bytes_per_token", "(a float), expected 7 (an int)"),
        ("memory_bytes * 2**30 // bytes_per_token", "2**30"),
        ("memory_bytes // bytes_per_token // 2", "counts keys and values already"),
        ("memory_bytes // bytes_per_token // 1024", "Both numbers are in bytes already"),
        ("memory_bytes / 2**30 // bytes_per_token", "Turns the memory into GiB"),
        ("memory_bytes // 1024 // 1024 // 1024 // bytes_per_token", "Turns the memory into GiB"),
        ("int(memory_bytes / (128 * 1024))", "Works for a token of 128 KiB only"),
        ("memory_bytes * bytes_per_token", "returned 70000, expected 7"),
        ("memory_bytes % bytes_per_token", "Looks like %"),
        ("print(memory_bytes // bytes_per_token)", "printed 7 and returned nothing"),
        ("import math\nreturn float(math.floor(memory_bytes / bytes_per_token))", "it is a float"),
        ("524288", "returned 524288, expected 7"),
        ("math.floor(memory_bytes / bytes_per_token)", "Next: put import math at the top of the cell"),
    ),
    "decode_step_seconds": wrong(
        _STEP,
        ("weight_bytes / bandwidth", "The cache is missing"),
        ("kv_bytes / bandwidth", "The weights are missing"),
        ("weight_bytes + kv_bytes / bandwidth", "Python divides before it adds"),
        ("weight_bytes / bandwidth + kv_bytes", "expected 1.6"),
        ("bandwidth / (weight_bytes + kv_bytes)", "steps per second"),
        ("max(weight_bytes, kv_bytes) / bandwidth", "Looks like max()"),
        ("max(weight_bytes / bandwidth, kv_bytes / bandwidth)", "Looks like max()"),
        ("(weight_bytes + kv_bytes) // bandwidth", "Looks like //"),
        ("int((weight_bytes + kv_bytes) / bandwidth)", "Looks like int()"),
        ("(weight_bytes + kv_bytes) / bandwidth * 1000", "milliseconds"),
        ("(weight_bytes + kv_bytes) * bandwidth", "Looks like a product"),
        ("(weight_bytes + kv_bytes) / (bandwidth * 1e9)", "GB per second"),
        ("(weight_bytes + kv_bytes) / bandwidth / 1e9", "GB per second"),
        ("weight_bytes * kv_bytes / bandwidth", "expected 1.6"),
        ("(2 * weight_bytes + kv_bytes) / bandwidth", "Reads the weights twice"),
        ("(weight_bytes + 2 * kv_bytes) / bandwidth", "Reads the cache twice"),
        ("print((weight_bytes + kv_bytes) / bandwidth)", "printed 1.6 and returned nothing"),
        ("f'{(weight_bytes + kv_bytes) / bandwidth} s'", "(a str), expected 1.6 (a float)"),
    ),
    "latent_bytes_per_token": wrong(
        _LATENT,
        ("2 * layers * (latent_dim + rope_dim) * bytes_per_number", "no second vector"),
        ("layers * latent_dim * bytes_per_number", "position key is missing"),
        ("(2 * latent_dim + rope_dim) * layers * bytes_per_number", "Counts the latent twice"),
        ("layers * latent_dim * rope_dim * bytes_per_number", "Multiplies the two lengths"),
        ("(latent_dim + rope_dim) * bytes_per_number", "price in one layer"),
        ("layers * latent_dim + rope_dim * bytes_per_number", "Python multiplies before it adds"),
        ("(layers * latent_dim + rope_dim) * bytes_per_number", "for the whole model"),
        ("layers * (latent_dim + rope_dim) * 2", "Takes 2 bytes for every number"),
        ("layers * (latent_dim + rope_dim)", "count of numbers"),
        ("layers * (latent_dim + rope_dim) * bytes_per_number / 1024", "(a float), expected 27 (an int)"),
        ("2 * layers * latent_dim * bytes_per_number", "returned 42, expected 27"),
        ("layers * (latent_dim - rope_dim) * bytes_per_number", "returned 15, expected 27"),
    ),
    "window_tokens": wrong(
        _WINDOW,
        ("full_layers * context + window_layers * window", "even if the conversation is shorter"),
        ("full_layers * context + (window_layers * window if context >= window else 0)",
         "Leaves the window layers out while"),
        ("full_layers * context + window_layers * context", "Keeps everything in every layer"),
        ("full_layers * context + window_layers * max(context, window)", "Looks like max()"),
        ("window_layers * context + full_layers * min(context, window)", "changed places"),
        ("(window_layers + full_layers) * min(context, window)", "Cuts the full layers"),
        ("window_layers * min(context, window)", "The full layers are missing"),
        ("full_layers * context", "The window layers are missing"),
        ("min(full_layers * context + window_layers * context, window)", "returned 4, expected 32"),
        ("full_layers + window_layers * min(context, window)", "without their tokens"),
        ("full_layers * context + window_layers * (context - window)", "returned 38, expected 32"),
        ("if context > window:\n    return full_layers * context + window_layers * window",
         "window_tokens(context=3, window=5, window_layers=3, full_layers=2) returned nothing (None)"),
        ("context + min(context, window)", "one full layer and one window layer"),
        ("if context <= window:\n    return full_layers * context\n"
         "return full_layers * context + window_layers * window",
         "while a conversation is no longer than the window. Then they keep all"),
        ("if context < window:\n    return window_layers * context\n"
         "return full_layers * context + window_layers * window",
         "Leaves the full layers out while a conversation is shorter"),
        ("if context > window:\n    return full_layers * context + window_layers * window\n"
         "return window_layers * context",
         "Leaves the full layers out while a conversation is no longer"),
        ("if context < window:\n    return context\nreturn full_layers * context + window_layers * window",
         "Counts one layer while a conversation is shorter"),
        ("if context > window:\n    return full_layers * context + window_layers * window\nelse:\n    return context",
         "Counts one layer while a conversation is no longer"),
        ("if context < window:\n    return 0\nreturn full_layers * context + window_layers * window",
         "Next: treat a conversation shorter than the window"),
    ),
}
