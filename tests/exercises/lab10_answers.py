"""Answers to the exercises of lab 10 as learners give them; the wrong ones with what must be said."""

from tests.exercises.lab10_classes import RIGHT_CLASSES, WRONG_CLASSES

_RELOAD = "def reload_seconds(num_blocks, block_bytes, bandwidth, latency=0.0):\n"
_EVEN = "def break_even_tokens(block_size, block_bytes, bandwidth, latency, parameters, flops):\n"
_HEADS = "def shard_heads(heads, kv_heads, ranks):\n"
_GAIN = "    gain = 2 * parameters * block_size / flops - block_bytes / bandwidth\n"

RIGHT = RIGHT_CLASSES | {
    "reload_seconds": [
        _RELOAD + "    if num_blocks == 0:\n        return 0.0\n"
        "    return latency + num_blocks * (block_bytes / bandwidth)",
        _RELOAD + "    return (num_blocks > 0) * latency + num_blocks * block_bytes / bandwidth",
        _RELOAD + "    return 0 if not num_blocks else latency + block_bytes * num_blocks / bandwidth",
    ],
    "break_even_tokens": [
        "import math\n" + _EVEN + _GAIN + "    if latency <= gain:\n        return block_size\n"
        "    return None if gain <= 0 else math.ceil(latency / gain) * block_size",
        _EVEN + """
    for blocks in range(1, 100_000):
        load = latency + blocks * block_bytes / bandwidth
        compute = 2 * parameters * blocks * block_size / flops
        if load <= compute:
            return blocks * block_size
    return None
""",
        _EVEN + _GAIN + """
    if gain == 0 == latency:
        return block_size
    if gain > 0:
        blocks = int(latency // gain)
        if blocks * gain < latency:
            blocks += 1
        return block_size * (blocks or 1)
""",
    ],
    "shard_heads": [
        _HEADS + """
    if heads % kv_heads or heads % ranks or (kv_heads % ranks != 0 and ranks % kv_heads != 0):
        raise UsageError("no")
    group, each = heads // kv_heads, heads // ranks
    out = []
    for r in range(ranks):
        q = [r * each + i for i in range(each)]
        kv = []
        for h in q:
            if h // group not in kv:
                kv.append(h // group)
        out.append((q, kv, max(ranks // kv_heads, 1)))
    return out
""",
        _HEADS + """
    if heads % kv_heads or heads % ranks:
        raise UsageError("heads")
    if kv_heads % ranks and ranks % kv_heads:
        raise UsageError("kv heads")
    each = heads // ranks
    copies = ranks // kv_heads if ranks > kv_heads else 1
    held = kv_heads // ranks if ranks <= kv_heads else 1
    return [[list(range(r * each, r * each + each)), list(range(r // copies * held, r // copies * held + held)), copies]
            for r in range(ranks)]
""",
    ],
}

WRONG = WRONG_CLASSES | {
    "reload_seconds": [
        (_RELOAD + "    return 2 * num_blocks * block_bytes / bandwidth + latency", "both ways"),
        (_RELOAD + "    return num_blocks * block_bytes / bandwidth", "Leaves out the latency"),
        (_RELOAD + "    return latency + num_blocks * block_bytes / bandwidth", "no block"),
        (_RELOAD + "    return num_blocks * (block_bytes / bandwidth + latency)", "for each block"),
        (_RELOAD + "    latency + num_blocks * block_bytes / bandwidth", "returned nothing (None)"),
        (_RELOAD + "    return latency + num_blocks * bandwidth / block_bytes if num_blocks else 0.0", "returned"),
    ],
    "break_even_tokens": [
        (_EVEN + _GAIN + "    return latency / gain", "returned"),
        ("import math\n" + _EVEN + _GAIN + "    return math.ceil(latency / gain) * block_size", "returned"),
        ("import math\n" + _EVEN + _GAIN + "    return None if gain <= 0 else max(1, math.ceil(latency / gain))",
         "in blocks"),
        ("import math\n" + _EVEN + "    gain = parameters * block_size / flops - block_bytes / bandwidth\n"
         "    return None if gain <= 0 else max(1, math.ceil(latency / gain)) * block_size", "one operation"),
        (_EVEN + _GAIN + "    return None if gain <= 0 else max(1, int(latency / gain)) * block_size", "Rounds down"),
        ("import math\n" + _EVEN + _GAIN + "    return None if gain <= 0 else math.ceil(latency / gain) * block_size",
         "Gives 0 without a latency"),
        (_EVEN + _GAIN + "    return None if gain <= 0 else (int(latency / gain) + 1) * block_size", "at a tie"),
        (_EVEN + "    for n in range(1, 100_000):\n        if latency + n * block_bytes / bandwidth < 2 * parameters"
         " * n * block_size / flops:\n            return n * block_size", "at a tie"),
        ("import math\n" + _EVEN + _GAIN + "    if gain < 0:\n        return None\n"
         "    return max(1, math.ceil(latency / gain)) * block_size", "ZeroDivisionError"),
        ("import math\n" + _EVEN + _GAIN + "    return None if gain <= 0 else max(1, math.ceil(latency / gain)) * "
         "block_size", "from one block on without"),
        (_EVEN + "    for n in range(1, 10_000):\n        if latency + n * block_bytes / bandwidth <= 2 * parameters * "
         "n * block_size / flops:\n            return n * block_size", "Stops looking too early"),
        ("import math\n" + _EVEN + _GAIN.replace("gain = ", "gain = -(").rstrip() + ")\n    return None if gain <= 0 "
         "else max(1, math.ceil(latency / gain)) * block_size", "wrong sign"),
        (_EVEN + _GAIN + "    return int(latency / gain * block_size)", "returned"),
    ],
    "shard_heads": [
        (_HEADS + """
    each, kv_each = heads // ranks, kv_heads // ranks
    return [(list(range(r * each, (r + 1) * each)), list(range(r * kv_each, (r + 1) * kv_each)), 1)
            for r in range(ranks)]
""", "With more ranks than KV heads that is none"),
        (_HEADS + """
    each = heads // ranks
    return [(list(range(r * each, (r + 1) * each)), [h // (heads // kv_heads) for h in range(r * each, (r + 1) * each)],
             max(1, ranks // kv_heads)) for r in range(ranks)]
""", "once for each query head"),
        (_HEADS + """
    each = heads // ranks
    return [(mine := list(range(r * each, (r + 1) * each)), sorted({h // (heads // kv_heads) for h in mine}),
             max(1, ranks // kv_heads)) for r in range(ranks)]
""", "Drops the heads that are left over"),
        (_HEADS + """
    each = heads // ranks
    return [(mine := list(range(r * each, (r + 1) * each)), sorted({h % kv_heads for h in mine}),
             max(1, ranks // kv_heads)) for r in range(ranks)]
""", "h % kv_heads"),
        (_HEADS + "    return heads // ranks, kv_heads // ranks, 1", "expected"),
        (_HEADS + """
    if heads % kv_heads or (kv_heads % ranks and ranks % kv_heads):
        raise UsageError("kv")
    each = heads // ranks
    return [(mine := list(range(r * each, (r + 1) * each)), sorted({h // (heads // kv_heads) for h in mine}),
             max(1, ranks // kv_heads)) for r in range(ranks)]
""", "Looks at the KV heads alone"),
        (_HEADS + """
    each = heads // ranks
    return [(mine := list(range(r * each, (r + 1) * each)), {h // (heads // kv_heads) for h in mine},
             max(1, ranks // kv_heads)) for r in range(ranks)]
""", "a list of the heads' numbers"),
        (_HEADS + """
    each = heads // ranks
    return [(mine := list(range(r * each, (r + 1) * each)), sorted({h // (heads // kv_heads) for h in mine}),
             ranks / kv_heads) for r in range(ranks)]
""", "has copies 0.5, expected 1"),
    ],
}
