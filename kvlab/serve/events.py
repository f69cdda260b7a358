"""What a client does with an answer that is streamed: server-sent events (WHATWG HTML, section 9.2) to text."""

from __future__ import annotations

import json

PREFIX, END = "data: ", "[DONE]"


def stream_texts(stream: str) -> dict[int, str]:
    """The texts of a streamed chat completion, by the index of the choice.

    stream: the whole body. Each line "data: {...}" is a chunk in OpenAI's format, which adds its delta's content, if
    there is any, to the choice it names; "data: [DONE]" is the last. Other lines mean nothing.
    """
    texts: dict[int, str] = {}
    for line in stream.splitlines():
        data = line.removeprefix(PREFIX)
        if data == line or data == END:
            continue
        for choice in json.loads(data)["choices"]:
            texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts
