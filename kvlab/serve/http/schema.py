"""The bodies of requests, in OpenAI's format. What makes no sense, or is unknown, is refused with a sentence.

`neutral` has the fields of OpenAI's that change nothing here, and `parsing` makes a body of bytes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from kvlab.serve.sampling import GREEDY, Sampling

from .neutral import without_neutral
from .refusals import Refusal

LONG = 2**63
Count = Annotated[int, Field(ge=1, lt=2**31)]
Id = Annotated[int, Field(ge=0, lt=2**31)]
Ids = Annotated[list[Id], Field(fail_fast=True)]
Stop = Annotated[str, Field(min_length=1, max_length=1000)]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Strict(BaseModel):
    """An object of which every field is known, and of the type that is named."""

    model_config = ConfigDict(strict=True, extra="forbid")


class StreamOptions(Strict):
    """How a stream ends, and whether it is padded, which this one never is."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class Body(Strict):
    """What both kinds of request have in common. `seed` may be negative; `top_k` is an addition of ours."""

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
        return without_neutral(given) if isinstance(given, dict) else given

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


class Part(Strict):
    """A part of a message: text, the only kind there is here."""

    type: Literal["text"]
    text: str


class Message(Strict):
    """One turn of a chat."""

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
