"""Answers to the exercises of lab 11 as learners give them; the wrong ones with what the verdict must say."""

from tests.exercises.lab01_answers import given, wrong

_STATIC = "static_tokens(batch)"
_STREAM = "stream_texts(stream)"

_EMPTY = "if not batch:\n    return 0\n"
_LOOP = "import json\ntexts = {}\nfor line in stream.split('\\n'):\n"
_LOOP += "    if line.startswith('data: ') and 'data: [DONE]' != line:\n"
_LOOP += "        for c in json.loads(line[6:])['choices']:\n            texts.setdefault(c['index'], '')\n"
_ADD = "            {add}\nreturn texts"
_TEXT = _ADD.format(add="texts[c['index']] += c['delta'].get('content') or ''")
_EVENTS = "import json\nout = {}\nfor event in stream.split('\\n\\n'):\n    for line in event.split('\\n'):\n"
_EVENTS += "        if not line.startswith('data:'):\n            continue\n        data = line[5:].strip()\n"
_EVENTS += "        if data == '[DONE]':\n            return out\n        for c in json.loads(data)['choices']:\n"
_EVENTS += "            text = c['delta'].get('content')\n            if text is not None:\n"
_EVENTS += "                out[c['index']] = out.get(c['index'], '') + text\nreturn out"

RIGHT = {
    "static_tokens": given(
        _STATIC,
        _EMPTY + "prompts, answers = zip(*batch)\nreturn len(batch) * (max(prompts) + max(answers) - 1)",
        "w = max((p for p, a in batch), default=0)\nn = max((a for p, a in batch), default=0)\n"
        "return sum(w for _ in batch) + (n - 1) * len(batch)",
        "import numpy as np\nreturn int(len(batch) * (np.array(batch).max(axis=0).sum() - 1)) if batch else 0",
    ),
    "stream_texts": given(
        _STREAM,
        _LOOP + _ADD.format(add="texts[c['index']] += c['delta'].get('content') or ''"),
        _EVENTS,
        "import json\nfrom collections import defaultdict\ntexts = defaultdict(str)\nfor line in stream.split('\\n'):\n"
        "    if line[:6] == 'data: ' and line[6] == '{':\n        for c in json.loads(line[6:])['choices']:\n"
        "            texts[c['index']] += c['delta'].get('content', '')\nreturn dict(texts)",
    ),
}

WRONG = {
    "static_tokens": wrong(
        _STATIC,
        ("sum(p + a - 1 for p, a in batch)", "each request's own tokens"),
        (_EMPTY + "return len(batch) * max(p + a - 1 for p, a in batch)", "Takes the longest conversation"),
        (_EMPTY + "return len(batch) * (max(p for p, a in batch) + max(a for p, a in batch))", "last token"),
        (_EMPTY + "return len(batch) * max(p for p, a in batch) + sum(a - 1 for p, a in batch)",
         "Lets each row stop"),
        (_EMPTY + "return 8 * (max(p for p, a in batch) + max(a for p, a in batch) - 1)", "Counts eight rows"),
        (_EMPTY + "return len(batch) * (max(batch)[0] + max(batch)[1] - 1)", "which is one pair"),
        ("len(batch) * (max(p for p, a in batch) + max(a for p, a in batch) - 1)", "ValueError"),
        (_EMPTY + "return max(p for p, a in batch) + max(a for p, a in batch) - 1", "Counts one row"),
    ),
    "stream_texts": wrong(
        _STREAM,
        (_LOOP + _ADD.format(add="texts[c['index']] += c['delta']['content']"), "Expects content in every delta"),
        (_LOOP + _ADD.format(add="texts[c['index']] = c['delta'].get('content') or texts[c['index']]"),
         "Keeps the last piece alone"),
        (_LOOP + _ADD.format(add="texts[c['index']] += (c['delta'].get('content') or '').strip()"), "Cuts off spaces"),
        (_LOOP + _ADD.format(add="texts[0] = texts.get(0, '') + (c['delta'].get('content') or '')"), "stream_texts"),
        (_LOOP.replace(" and 'data: [DONE]' != line", "")
         + _ADD.format(add="texts[c['index']] += c['delta'].get('content') or ''"), "Reads [DONE] as JSON"),
        (_EVENTS.replace("\nreturn out", "\nprint(out)"),
         "print only shows it"),
        ("import json\nreturn json.loads(stream)", "JSONDecodeError"),
        (_LOOP.replace("'data: [DONE]' != line", "'[DONE]' not in line") + _TEXT, "Passes over every line"),
        (_LOOP.replace("line.startswith('data: ')", "'data: ' in line").replace("'data: [DONE]' !=", "'DONE' not in")
         + _TEXT, "Looks for the markers anywhere"),
        (_LOOP.replace("['choices']", "['choices'][:1]") + _TEXT, "the first choice of a chunk alone"),
        (_LOOP.replace("stream.split('\\n')", "stream.splitlines()") + _TEXT, "Cuts with splitlines()"),
        (_LOOP.replace("stream.split('\\n')", "stream.split('\\n\\n')") + _TEXT, "Cuts at blank lines"),
    ),
}
