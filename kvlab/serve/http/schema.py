"""The bodies of requests, in OpenAI's format: what is accepted, ignored, and refused with a sentence.

Fields that change nothing here, such as `user`, are accepted and ignored. Fields that ask for something this server
does not have are refused unless they say what is the case anyway. Unknown fields are refused, as OpenAI does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kvlab.serve.sampling import GREEDY, Sampling

from .refusals import Refusal

LONG = 2**63
Count = Annotated[int, Field(ge=1, lt=2**31)]
Id = Annotated[int, Field(ge=0, lt=2**31)]
Ids = Annotated[list[Id], Field(fail_fast=True)]
Stop = Annotated[str, Field(min_length=1, max_length=1000)]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

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
SHAPES = {  # what can be more than one thing is explained as a whole
    "prompt": "a text, a list of texts, a list of token ids, or a list of such lists",
    "stop": "a text of 1 to 1,000 characters, or a list of at most 4 such texts",
    "content": 'a text, or a list of parts {"type": "text", "text": ...}',
}


class StreamOptions(BaseModel):
    """How a stream ends, and whether it is padded, which this one never is."""

    model_config = ConfigDict(strict=True, extra="forbid")
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class Body(BaseModel):
    """What both kinds of request have in common. `seed` may be negative; `top_k` is an addition of ours."""

    model_config = ConfigDict(strict=True, extra="forbid")
    model: str
    n: Count | None = None
    seed: Annotated[int, Field(ge=-LONG, lt=LONG)] | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=4, fail_fast=True)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    top_p: Unit | None = None
    top_k: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    max_tokens: Count | None = None

    @model_validator(mode="before")
    @classmethod
    def _what_changes_nothing(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        for name, values in NEUTRAL.items():
            if given.get(name) is not None and not any(_same(given[name], value) for value in values):
                raise Refusal(400, f"{name} is not supported by this server: leave it out.", param=name)
        return {name: value for name, value in given.items() if name not in IGNORED and name not in NEUTRAL}

    @model_validator(mode="after")
    def _options_of_a_stream(self) -> Body:
        if self.stream_options is not None and not self.stream:
            raise Refusal(400, "stream_options goes with stream: true.", param="stream_options")
        return self

    @property
    def choices(self) -> int:
        """Answers to each prompt."""
        return self.n or 1

    @property
    def stops(self) -> list[str]:
        """Texts that end an answer."""
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with its usage."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def sampling(self) -> Sampling:
        """How tokens are chosen; the temperature is 1 unless another is asked for."""
        temperature = 1.0 if self.temperature is None else self.temperature
        top_p = 1.0 if self.top_p is None else self.top_p
        if temperature == 0 or top_p == 0 or self.top_k == 1:
            return GREEDY
        seed = None if self.seed is None else self.seed % (2 * LONG)
        return Sampling(temperature, self.top_k or 0, top_p, seed)

    @property
    def alternatives(self) -> int | None:
        """How many alternatives to each token are asked for; None for no log-probabilities at all."""
        return None


class Completion(Body):
    """The body of a request to /v1/completions."""

    prompt: str | Annotated[list[str], Field(fail_fast=True)] | Ids | Annotated[list[Ids], Field(fail_fast=True)]
    echo: bool | None = None
    best_of: Count | None = None
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None

    @model_validator(mode="after")
    def _what_is_not_there(self) -> Completion:
        if self.best_of not in (None, self.choices):
            sentence = f"best_of is not supported by this server: it must be n, {self.choices}, or be left out."
            raise Refusal(400, sentence, param="best_of")
        if self.echo and self.logprobs is not None:
            raise Refusal(400, "echo does not go with logprobs: prompts are not scored by this server.", param="echo")
        return self

    @property
    def prompts(self) -> list[str | list[int]]:
        """Each prompt, as text or as token ids."""
        if isinstance(self.prompt, str):
            return [self.prompt]
        if self.prompt and isinstance(self.prompt[0], int):
            return [self.prompt]  # type: ignore[list-item]
        return list(self.prompt)  # type: ignore[arg-type]

    @property
    def limit(self) -> int | None:
        """New tokens asked for: 16 unless another number is named, as OpenAI has it."""
        return 16 if self.max_tokens is None else self.max_tokens

    @property
    def alternatives(self) -> int | None:
        """See `Body.alternatives`."""
        return self.logprobs


class Part(BaseModel):
    """A part of a message: text, the only kind there is here."""

    model_config = ConfigDict(strict=True, extra="forbid")
    type: Literal["text"]
    text: str


class Message(BaseModel):
    """One turn of a chat."""

    model_config = ConfigDict(strict=True, extra="forbid")
    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[Part], Field(min_length=1, fail_fast=True)]
    name: str | None = None
    refusal: str | None = None

    @property
    def plain(self) -> dict[str, str]:
        """As chat templates take it."""
        role = "system" if self.role == "developer" else self.role
        text = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return {"role": role, "content": text}


class Chat(Body):
    """The body of a request to /v1/chat/completions."""

    messages: Annotated[list[Message], Field(min_length=1, fail_fast=True)]
    max_completion_tokens: Count | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None

    @model_validator(mode="after")
    def _alternatives_to_what(self) -> Chat:
        if self.top_logprobs is not None and not self.logprobs:
            raise Refusal(400, "top_logprobs goes with logprobs: true.", param="top_logprobs")
        return self

    @property
    def limit(self) -> int | None:
        """New tokens asked for; None for as many as there is room for."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def alternatives(self) -> int | None:
        """See `Body.alternatives`."""
        return (self.top_logprobs or 0) if self.logprobs else None


Kind = TypeVar("Kind", bound=Body)


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


def _same(given: Any, value: Any) -> bool:
    return given == value and not isinstance(given, bool)
