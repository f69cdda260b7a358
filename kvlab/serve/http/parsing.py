"""The bytes of a request's body made into what `schema` describes, or a sentence about the first field at fault."""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from .refusals import Refusal
from .schema import Body

Kind = TypeVar("Kind", bound=Body)
SHAPES = {  # what can be more than one thing is explained as a whole
    "prompt": "a text, a list of texts, a list of token ids, or a list of such lists",
    "stop": "a text of 1 to 1,000 characters, or a list of at most 4 such texts",
    "content": 'a text, or a list of parts {"type": "text", "text": ...}',
}


def parse(kind: type[Kind], body: bytes) -> Kind:
    """The request that `body` makes, or a `Refusal` with a sentence about the first field that is at fault."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise _refusal(error) from None


def _refusal(error: ValidationError) -> Refusal:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    what, where = str(first["msg"]), ".".join(map(str, first["loc"]))
    if first["type"] == "json_invalid":
        return Refusal(400, f"The body is no JSON that can be read: {what.removeprefix('Invalid JSON: ')}.")
    if first["type"] == "extra_forbidden":
        return Refusal(400, f"Unrecognized request argument supplied: {where}.", param=where)
    if first["type"] == "missing" and len(first["loc"]) == 1:
        return Refusal(400, f"The field {where} is required.", param=where)
    shape = next((part for part in first["loc"] if part in SHAPES), None)
    if shape is not None:
        where = where[: where.index(str(shape))] + str(shape)
        return Refusal(400, f"{where}: this is {SHAPES[str(shape)]}.", param=str(first["loc"][0]))
    if not where:
        return Refusal(400, f"The body is not what it should be, a JSON object: {what}.")
    return Refusal(400, f"{where}: {what[:1].lower()}{what[1:]}.", param=str(first["loc"][0]))
