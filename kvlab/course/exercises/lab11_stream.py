"""Lab 11: a client reads the stream that a server sends it."""

from __future__ import annotations

import json

from kvlab.course.declare import Cases, Exercise, Mistake
from kvlab.course.exercises import lab11_stream_mistakes as wrong
from kvlab.serve.events import END, PREFIX


def _chunk(index, content=None, **more):
    """One event with one choice; `content` None for a delta without any."""
    delta = {} if content is None else {"content": content}
    return _event({"choices": [{"index": index, "delta": delta, **more}]})


def _event(data):
    return f"{PREFIX}{data if isinstance(data, str) else json.dumps(data)}\n\n"


_HI = _chunk(0, "Hi")
_WHOLE = _chunk(0, "Rosa") + _chunk(0, " is") + _chunk(0, " on the way.")
_END = _chunk(0, None, finish_reason="stop")
_TWO = _chunk(0, "Yes") + _chunk(1, "No") + _chunk(1, ", never") + _chunk(0, ", today")
_USAGE = _event({"choices": [], "usage": {"completion_tokens": 3}})
_BOTH = _event({"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]})
_SEPARATOR = _event(json.dumps({"choices": [{"index": 0, "delta": {"content": "a\u2028b"}}]}, ensure_ascii=False))
_APPEND = "append each content to the text of its choice"
_CUT = "split(\"\\n\") cuts at the ends of lines alone"

STREAM_TEXTS = Exercise(
    name="stream_texts", lab="11", part="kvlab.serve.events.stream_texts", stars=2, core=True, minutes=12,
    checks=(
        Cases("pieces of one answer", (_HI,), (_WHOLE,), (_chunk(0, "a ") + _chunk(0, " b"),), next=_APPEND),
        Cases("several answers at once", (_TWO,), (_chunk(1, "b") + _chunk(0, "a") + _chunk(1, "c"),),
              next="each chunk names its choice by index"),
        Cases("a chunk without text", (_HI + _END,), (_chunk(0, "") + _HI,),
              (_chunk(0, "A") + _END + _chunk(1, "B"),), next="a delta may have no content"),
        Cases("a chunk with more choices than one, or none", (_BOTH,), (_HI + _USAGE,),
              next="go through all the choices of a chunk"),
        Cases("the end", (_HI + _event(END),), (_WHOLE + _END + _event(END),), next=f"{END} is no JSON"),
        Cases("a comment right before the data", (": ping\n" + _HI,), next="look at every single line"),
        Cases("other lines", (": still there\n\n" + _HI,), ("\n" + _HI + "\n: ping\n" + _END,),
              ("event: message\n" + _HI,), (": data: none\n\n" + _HI,),
              next=f"only lines that begin with {PREFIX!r} count"),
        Cases("text that looks like a stream", (_chunk(0, "data: x") + _chunk(0, "\n: y\n\n"),),
              next="take the marker off the beginning of a line alone"),
        Cases("text that looks like the end", (_chunk(0, f"a {END} b") + _HI,),
              next=f"the end is a line of which all the data is {END}"),
        Cases("a line separator, U+2028, in a text", (_SEPARATOR,), next=_CUT),
    ),
    mistakes=(
        Mistake(wrong.done_is_parsed, f"Reads {END} as JSON. It only says that nothing more will come.",
                next=f"pass over {END}"),
        Mistake(wrong.every_line_is_data,
                "Reads every line as data. A server may send comments, which begin with a colon, so that the "
                "connection stays open.", next=f"only lines that begin with {PREFIX!r} count"),
        Mistake(wrong.content_is_always_there,
                "Expects content in every delta. The first may bring a role alone, and the last a reason to end.",
                next="get() with an empty text"),
        Mistake(wrong.choices_mixed, "Puts all choices into one text. With n=2, two answers come interleaved.",
                next="each chunk names its choice by index"),
        Mistake(wrong.last_piece_alone, "Keeps the last piece alone. Each chunk brings only what is new.",
                next=_APPEND),
        Mistake(wrong.first_piece_alone, "Keeps the first piece alone. Each chunk brings more of the text.",
                next=_APPEND),
        Mistake(wrong.spaces_cut_off, 'Cuts off spaces. They belong to the text: " is" is a piece of its own.',
                next="append the content as it is"),
        Mistake(wrong.spaces_put_between, "Puts spaces between the pieces. A piece can be half a word.",
                next="append the content as it is"),
        Mistake(wrong.ends_with_the_first, "Stops when one choice ends. The others may still have text to come.",
                next=f"read until {END}, or to the end of the stream"),
        Mistake(wrong.lists_of_pieces, "Gives lists of pieces. The question is for each choice's text.",
                next="join the pieces"),
        Mistake(wrong.text_alone, "Gives one text. There can be several choices, so it is a dictionary by index.",
                next="{index: text}"),
        Mistake(wrong.marker_taken_out_everywhere,
                "Takes the marker out everywhere. An answer may contain those letters.",
                next="take it off the beginning of a line alone"),
        Mistake(wrong.end_marker_anywhere,
                f"Passes over every line with {END} in it. An answer may contain those letters.",
                next=f"the end is a line of which all the data is {END}"),
        Mistake(wrong.marker_anywhere, "Looks for the marker anywhere in a line. A comment may contain those letters.",
                next=f"only lines that begin with {PREFIX!r} count"),
        Mistake(wrong.both_markers_anywhere,
                "Looks for the markers anywhere in a line. Comments and answers may contain those letters.",
                next="compare the beginning of a line, and all that is behind it"),
        Mistake(wrong.first_choice_alone, "Reads the first choice of a chunk alone. A chunk may bring several.",
                next="go through all the choices of a chunk"),
        Mistake(wrong.cut_at_blank_lines,
                "Cuts at blank lines, so a comment or a field right before the data hides it.",
                next="look at every single line"),
        Mistake(wrong.cut_by_splitlines,
                "Cuts with splitlines(), which cuts at more than the ends of lines: also at U+2028, which may stand "
                "in a text.", next=_CUT),
    ),
    hints=(
        "Look at the raw stream again. Which lines carry text, and which field says to whose answer it belongs?",
        "Go through the lines. Pass over those that do not begin with the marker, and the one that says DONE. The rest "
        "is JSON, with a list of choices; append each delta's content, if it has any.",
        "for choice in json.loads(line.removeprefix(\"data: \"))[\"choices\"]: texts[choice[\"index\"]] = "
        "texts.get(...) + choice[\"delta\"].get(...)",
    ),
)
