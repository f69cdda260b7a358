"""What `block_hashes` must do: two keys are equal if all tokens up to the end of their blocks are, and the tag."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kvlab.course.declare import Wrong
from kvlab.course.shorten import show

Text = tuple[tuple[int, ...], tuple[Hashable, ...]]  # tokens and tag
Value = tuple[int, Text, Text]  # block size, and two texts to compare


def run(part: Any, value: Value) -> None:
    """The keys of both texts; `Wrong` at the first two that are equal and must not be, or the other way round."""
    size, one, other = value
    texts = [one, other] if one != other else [one]
    keys = [_made(part, size, text) for text in texts]
    again = _made(part, size, one)
    if again != keys[0]:
        raise Wrong(f"{call(size, one)}, called twice, returned other keys the second time, expected the same.",
                    next="let the tokens and the tag decide, and nothing else")
    entries = [(text, place, key) for text, made in zip(texts, keys, strict=True) for place, key in enumerate(made)]
    for number, (text, place, key) in enumerate(entries):
        for earlier, before, known in entries[:number]:
            _compare(size, (earlier, before, known), (text, place, key))


def _compare(size: int, one: tuple[Text, int, Any], other: tuple[Text, int, Any]) -> None:
    ((tokens, tag), i, key), ((others, other_tag), j, other_key) = one, other
    mine, theirs = tokens[: (i + 1) * size], others[: (j + 1) * size]
    equal = (mine, tag) == (theirs, other_tag)
    if (key == other_key) is equal:
        return
    both = f"key {i} of {_text(one[0])} and key {j} of {_text(other[0])}" if one[0] != other[0] else (
        f"keys {i} and {j} of {_text(one[0])}")
    if equal:
        raise Wrong(f"{both} differ, although all tokens up to there are equal, and the tag. Expected the same key.",
                    next="let the tokens up to the block's end and the tag decide, and nothing else")
    why, next = _why(size, mine, theirs, tag == other_tag)
    raise Wrong(f"{both} are equal, although {why}. Expected different keys.", next=next)


def _why(size: int, mine: tuple[int, ...], theirs: tuple[int, ...], same_tag: bool) -> tuple[str, str]:
    if not same_tag:
        return "the tags differ", "let the tag into the first key, as one piece: repr(tag) tells all tags apart"
    if mine[-size:] == theirs[-size:]:
        return "what comes before these blocks differs", "let the key of the block before into each key"
    return "the blocks hold different tokens", "let each token of the block into its key, and their order"


def _made(part: Any, size: int, text: Text) -> list[Any]:
    """The keys, or `Wrong` if they are not as many as there are full blocks, or no keys."""
    tokens, tag = list(text[0]), text[1]
    got, said = (part(tokens, size, tag) if tag else part(tokens, size)), call(size, text)
    if got is None:
        raise Wrong(f"{said} returned nothing (None), expected a list of keys; is a `return` missing?",
                    next="return the list of keys")
    if type(got) not in (list, tuple):
        raise Wrong(f"{said} returned {_kind(got)}, expected a list with one key for each full block.",
                    next="return a list of keys")
    if tokens != list(text[0]):
        raise Wrong(f"{said} changed tokens to {show(tokens, 40)}, expected it to be left alone.",
                    next="read the tokens and take none out", alike="tokens")
    full = len(tokens) // size
    if len(got) != full:
        raise Wrong(f"{said} returned {len(got)} key{'s' * (len(got) != 1)}, expected {full}: one for each full block.",
                    next="begin at block 0, and leave out the block that is not full" if len(got) != full else None)
    for place, key in enumerate(got):
        _usable(said, place, key)
    return list(got)


def _usable(said: str, place: int, key: Any) -> None:
    if key is None or key is Ellipsis:
        raise Wrong(f"{said} returned {show(key)} as key {place}, which stands for nothing.", next="return the keys")
    if hasattr(key, "hexdigest") and hasattr(key, "update"):
        raise Wrong(f"{said} returned a hash object as key {place}. Two of these are never equal, and a later update() "
                    "changes the one you have, expected its digest.", next="append h.digest(), which stays as it is")
    try:
        hash(key)
    except Exception:
        raise Wrong(f"{said} returned {_kind(key)} as key {place}, expected what a dictionary takes as a key.",
                    next="use a tuple, or a hash of it") from None


def _kind(thing: Any) -> str:
    return f"an object of type {type(thing).__name__}"


def call(size: int, text: Text) -> str:
    """The call as Python."""
    tag = f", {show(text[1], 40)}" if text[1] else ""
    return f"block_hashes({show(list(text[0]), 60)}, {size}{tag})"


def _text(text: Text) -> str:
    return show(list(text[0]), 40) + (f" with tag {show(text[1], 40)}" if text[1] else "")


def render(value: Value) -> list[str]:
    """The two calls."""
    size, one, other = value
    return [call(size, text) for text in ([one, other] if one != other else [one])]


def random_texts() -> Any:
    """A strategy for `Value`s: two short texts over few tokens, with tags that are easily confused."""
    from hypothesis import strategies as st

    tokens = st.lists(st.sampled_from([0, 1, 2, 11, 12, 21]), max_size=7).map(tuple)
    tag = st.sampled_from([(), ("a",), ("a", None), (None, "a"), ("ab", "c"), ("a", "bc")])
    text = st.tuples(tokens, tag)
    return st.tuples(st.integers(1, 3), text, text)
