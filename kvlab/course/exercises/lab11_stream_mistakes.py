"""`stream_texts` as beginners write it."""

from __future__ import annotations

import json

from kvlab.serve.events import END, PREFIX


def _pieces(stream):
    """(index, content or None, whether it ended) of each choice of each chunk, as the right code finds them."""
    for line in stream.split("\n"):
        data = line.removeprefix(PREFIX)
        if data not in (line, END):
            for choice in json.loads(data)["choices"]:
                yield choice["index"], choice["delta"].get("content"), choice.get("finish_reason")


def _joined(pieces, change=str):
    texts = {}
    for index, content, _ in pieces:
        texts[index] = texts.get(index, "") + change(content or "")
    return texts


def done_is_parsed(stream):
    texts = {}
    for line in stream.split("\n"):
        if line.startswith(PREFIX):
            for choice in json.loads(line.removeprefix(PREFIX))["choices"]:
                texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts


def every_line_is_data(stream):
    texts = {}
    for line in stream.split("\n"):
        data = line.removeprefix(PREFIX)
        if data and data != END:
            for choice in json.loads(data)["choices"]:
                texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts


def content_is_always_there(stream):
    texts = {}
    for line in stream.split("\n"):
        data = line.removeprefix(PREFIX)
        if data not in (line, END):
            for choice in json.loads(data)["choices"]:
                texts[choice["index"]] = texts.get(choice["index"], "") + choice["delta"]["content"]
    return texts


def choices_mixed(stream):
    return _joined((0, content, ended) for _, content, ended in _pieces(stream))


def last_piece_alone(stream):
    texts = {}
    for index, content, _ in _pieces(stream):
        if content:
            texts[index] = content
    return texts


def first_piece_alone(stream):
    texts = {}
    for index, content, _ in _pieces(stream):
        if content:
            texts.setdefault(index, content)
    return texts


def spaces_cut_off(stream):
    return _joined(_pieces(stream), str.strip)


def spaces_put_between(stream):
    pieces = {}
    for index, content, _ in _pieces(stream):
        if content:
            pieces.setdefault(index, []).append(content)
    return {index: " ".join(found) for index, found in pieces.items()}


def ends_with_the_first(stream):
    found = []
    for piece in _pieces(stream):
        found.append(piece)
        if piece[2]:
            break
    return _joined(found)


def lists_of_pieces(stream):
    pieces = {}
    for index, content, _ in _pieces(stream):
        if content:
            pieces.setdefault(index, []).append(content)
    return pieces


def text_alone(stream):
    return "".join(content or "" for _, content, _ in _pieces(stream))


def marker_taken_out_everywhere(stream):
    texts = {}
    for data in stream.replace(PREFIX, "").split("\n"):
        if data.startswith("{"):
            for choice in json.loads(data)["choices"]:
                texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts


def _read(stream, is_data, choices=lambda found: found, lines=lambda stream: stream.split("\n")):
    """The right code but for which lines are data, which choices of a chunk count, and where the stream is cut."""
    texts = {}
    for line in lines(stream):
        if is_data(line):
            for choice in choices(json.loads(line[line.index(PREFIX) + len(PREFIX):])["choices"]):
                texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts


def _is_chunk(line):
    return line.startswith(PREFIX) and line != PREFIX + END


def end_marker_anywhere(stream):
    return _read(stream, lambda line: line.startswith(PREFIX) and END not in line)


def marker_anywhere(stream):
    return _read(stream, lambda line: PREFIX in line and line != PREFIX + END)


def both_markers_anywhere(stream):
    return _read(stream, lambda line: PREFIX in line and END not in line)


def first_choice_alone(stream):
    return _read(stream, _is_chunk, choices=lambda found: found[:1])


def cut_by_splitlines(stream):
    return _read(stream, _is_chunk, lines=str.splitlines)


def cut_at_blank_lines(stream):
    return _read(stream, _is_chunk, lines=lambda stream: stream.split("\n\n"))
