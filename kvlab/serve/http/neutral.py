"""Fields of OpenAI's requests that change nothing here.

Some, such as `user`, are accepted and ignored. Others ask for something that this server does not have, and are refused
unless they say what is the case anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .refusals import Refusal

IGNORED = {
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
    "parallel_tool_calls", "reasoning_effort", "verbosity", "prediction", "tool_choice", "function_call",
}  # fmt: skip
NEUTRAL: Mapping[str, tuple[Any, ...]] = {  # beside null
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "suffix": ("",),
    "tools": ([],),
    "functions": ([],),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "web_search_options": (),
}


def without_neutral(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a body that change something. `Refusal` for one that asks for what is not there."""
    for name, values in NEUTRAL.items():
        if given.get(name) is not None and not any(_same(given[name], value) for value in values):
            raise Refusal(400, f"{name} is not supported by this server: leave it out.", param=name)
    return {name: value for name, value in given.items() if name not in IGNORED and name not in NEUTRAL}


def _same(given: Any, value: Any) -> bool:
    """Equal, and no truth value that passes for a number."""
    return given == value and not isinstance(given, bool)
