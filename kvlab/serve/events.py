"""What a client does with an answer that is streamed: server-sent events (WHATWG HTML, section 9.2) to text."""

from __future__ import annotations

import json
import re

PREFIX, END = "data: ", "[DONE]"
_LINE_END = re.compile(r"\r\n|\n|\r")


def stream_texts(stream: str) -> dict[int, str]:
    """The texts of a streamed chat completion, by the index of the choice.

    stream: the whole body. Each line "data: {...}" is a chunk in OpenAI's format, which adds its delta's content, if
    there is any, to the choice it names; "data: [DONE]" is the last. Other lines mean nothing. Lines end as the
    standard says: other characters at which `splitlines()` cuts, such as U+2028, may stand in a text.
    """
    texts: dict[int, str] = {}
    for line in _LINE_END.split(stream):
        data = line.removeprefix(PREFIX)
        if data == line or data == END:
            continue
        for choice in json.loads(data)["choices"]:
            texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts
