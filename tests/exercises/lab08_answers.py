"""Answers to the exercises of lab 08 as learners give them; the wrong ones with what the verdict must say."""

from tests.exercises.lab01_answers import given, wrong

_ADMIT = "admit(waiting, free, spare, block_size, running)"
_STEP = "schedule_step(jobs, budget)"
_VICTIM = "choose_victim(running, asks)"
_RUN = "recompute_seconds(num_tokens, parameters, flops, weight_bytes, bandwidth)"
_SWAP = "swap_seconds(num_blocks, block_bytes, bandwidth, per_copy=0.0)"
_PLAN = "swap_plan(tables, free)"

_ALONE = "if len(running) == 1:\n    return None\n"
_LOOP = "n = 0\nfor p, a in waiting:\n    need = {need}\n    if free - need < ({spare}):\n        break\n"
_LOOP += "    free -= need\n    n += 1\nreturn n"
_UP = "(p + a + block_size - 1) // block_size"
_KEEP = "spare if running + n > 0 else 0"
_SORTED = "out = {{}}\nfor name, state, left in {jobs}:\n    n = {n}\n    if n:\n        out[name] = n\n"
_SORTED += "        budget -= n\nreturn out"
_RANKED = "sorted(jobs, key=lambda j: ['decoding', 'prompt', 'waiting'].index(j[1]))"
_ROOM = "if len({b for t in tables for b in t}) > len(free):\n"
_ROOM += "    raise OutOfBlocks(len({b for t in tables for b in t}), len(free))\n"
_PLACES = "place = {}\nfree = list(free)\nfor t in tables:\n    for b in t:\n        if b not in place:\n"
_PLACES += "            place[b] = free.pop()\n"

RIGHT = {
    "admit": given(
        _ADMIT,
        _LOOP.format(need=_UP, spare=_KEEP),
        "import math\nn = 0\nwhile n < len(waiting):\n    free -= math.ceil(sum(waiting[n]) / block_size)\n"
        "    if free < 0 or (free < spare and running + n):\n        break\n    n += 1\nreturn n",
    ),
    "schedule_step": given(
        _STEP,
        _SORTED.format(jobs=_RANKED, n="min(left, budget)"),
        "out = {}\nfor now in 'decoding', 'prompt', 'waiting':\n    for name, state, left in jobs:\n"
        "        if state == now and budget > 0:\n            out[name] = min(budget, left)\n"
        "            budget -= out[name]\nreturn out",
    ),
    "choose_victim": given(
        _VICTIM,
        _ALONE + "return sorted(running, key=lambda j: (j[1], j[2]))[-1][0]",
        "worst = running[0]\nfor job in running:\n    if job[1:] > worst[1:]:\n        worst = job\n"
        "return worst[0] if len(running) > 1 else None",
    ),
    "recompute_seconds": given(
        _RUN,
        "if not num_tokens:\n    return 0.0\nrun = 2 * parameters / flops * num_tokens\n"
        "read = weight_bytes / bandwidth\nreturn run if run > read else read",
        "import numpy as np\nreturn float(np.maximum(num_tokens * parameters * 2 / flops, weight_bytes / bandwidth)) "
        "* (num_tokens > 0)",
    ),
    "swap_seconds": given(
        _SWAP,
        "once = block_bytes / bandwidth + per_copy\nreturn num_blocks * once + num_blocks * once",
        "(2 * num_blocks) * block_bytes / bandwidth + 2 * num_blocks * per_copy",
    ),
    "swap_plan": given(
        _PLAN,
        _ROOM + _PLACES + "return [[place[b] for b in t] for t in tables], list(place.items())",
        _ROOM + "blocks = sorted({b for t in tables for b in t})\nplace = dict(zip(blocks, free))\n"
        "return [[place[b] for b in t] for t in tables], [(b, place[b]) for b in blocks]",
    ),
}

WRONG = {
    "admit": wrong(
        _ADMIT,
        (_LOOP.format(need=_UP, spare="0"), "Leaves no block spare"),
        (_LOOP.format(need="-(-p // block_size)", spare=_KEEP), "Counts the prompt's blocks alone"),
        (_LOOP.format(need="(p + a) // block_size", spare=_KEEP), "Rounds down"),
        (_LOOP.format(need=_UP, spare=_KEEP).replace("        break", "        continue"), "Goes past one"),
        (_LOOP.format(need=_UP, spare="spare"), "Keeps the spare blocks free although nobody runs"),
        (_LOOP.format(need=_UP, spare="spare if running else 0"), "Looks at who ran before"),
        (_LOOP.format(need=_UP, spare=_KEEP).replace("return n", "print(n)"), "print only shows it"),
        (_LOOP.format(need=_UP, spare=_KEEP).replace("if free", "if (running + n) and free"), "no room at all"),
        (_LOOP.format(need="(sum(waiting.pop(0)) + block_size - 1) // block_size", spare=_KEEP).replace(
            "for p, a in waiting:", "for p, a in list(waiting):"), "work on list(waiting)"),
    ),
    "schedule_step": wrong(
        _STEP,
        (_SORTED.format(jobs="jobs", n="min(left, budget)"), "order of arrival alone"),
        (_SORTED.format(jobs=_RANKED, n="left if budget > 0 else 0"), "Overruns the budget"),
        (_SORTED.format(jobs=_RANKED, n="left if left <= budget else 0"), "too long for the step"),
        ("{name: left for name, state, left in jobs}", "Does not look at the budget"),
        (_SORTED.format(jobs=_RANKED, n="min(left, budget)").replace("    if n:\n    ", "    if True:\n    "),
         "schedule_step(jobs="),
        ("jobs.sort(key=lambda j: ['decoding', 'prompt', 'waiting'].index(j[1]))\n"
         + _SORTED.format(jobs="jobs", n="min(left, budget)"), "work on list(jobs)"),
        (_SORTED.format(jobs=_RANKED, n="min(left, budget) if state != 'waiting' or left <= budget else 0"),
         "only if it fits whole"),
        ("share = max(1, budget // max(1, sum(j[1] != 'decoding' for j in jobs)))\n"
         + _SORTED.format(jobs=_RANKED, n="min(left, share, budget)"), "Gives prompts a share each"),
        (_SORTED.format(jobs=_RANKED, n="1 if state == 'decoding' else max(0, min(left, budget))"),
         "Lets all who decode run"),
    ),
    "choose_victim": wrong(
        _VICTIM,
        ("asks if len(running) > 1 else None", "Whoever asks leaves"),
        ("max(running, key=lambda j: (j[1], j[2]))[0]", "leaves for itself"),
        (_ALONE + "return max(running, key=lambda j: j[2])[0]", "Looks at the arrival alone"),
        (_ALONE + "return min(running, key=lambda j: (j[1], j[2]))[0]", "The first in order leaves"),
        (_ALONE + "return running[-1][0]", "Takes the last of the list"),
        (_ALONE + "return max((j for j in running if j[0] != asks), key=lambda j: j[1:])[0]", "Spares whoever asks"),
        (_ALONE + "v = max(running, key=lambda j: j[1:])[0]\nreturn None if v == asks else v", "Says nobody where"),
    ),
    "recompute_seconds": wrong(
        _RUN,
        ("2 * parameters * num_tokens / flops", "Leaves out the reading"),
        ("max(2 * parameters * num_tokens / flops, weight_bytes / bandwidth)", "for no token at all"),
        ("max(parameters * num_tokens / flops, weight_bytes / bandwidth) if num_tokens else 0", "one operation"),
    ),
    "swap_seconds": wrong(
        _SWAP,
        ("num_blocks * (block_bytes / bandwidth + per_copy)", "one way only"),
        ("2 * num_blocks * (8 * block_bytes / bandwidth + per_copy)", "into bits"),
        ("2 * num_blocks * block_bytes / bandwidth", "Leaves out per_copy"),
        ("2 * num_blocks * block_bytes / bandwidth + per_copy", "Pays per_copy once"),
    ),
    "swap_plan": wrong(
        _PLAN,
        (_ROOM + _PLACES + "return tables, list(place.items())", "Gives the tables as they were"),
        (_ROOM + _PLACES + "return [[place[b] for b in t] for t in tables], [(b, a) for a, b in place.items()]",
         "the wrong way"),
        (_ROOM + _PLACES + "return [[place[b] for b in t] for t in tables], [(b, place[b]) for t in tables for b in t]",
         "lists the copy once for each table"),
        (_PLACES + "return [[place[b] for b in t] for t in tables], list(place.items())", "IndexError"),
        (_ROOM + _PLACES + "return list(place.items())", "swap_plan"),
        (_ROOM + _PLACES.replace("free = list(free)\n", "")
         + "return [[place[b] for b in t] for t in tables], list(place.items())", "out of the caller's list"),
        (_ROOM.replace(" > len", " >= len") + _PLACES + "return [[place[b] for b in t] for t in tables], "
         "list(place.items())", "Exactly enough is enough"),
    ),
}
