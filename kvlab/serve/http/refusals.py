"""What a client is told when it does not get what it asked for: a status and a sentence, in OpenAI's format."""

from __future__ import annotations

from typing import Any

from kvlab.errors import KVLabError

KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class Refusal(KVLabError):
    """An answer with `status` and the sentence `str()`.

    param: the field of the body that is at fault. code: OpenAI's word for it. retry_after: whole seconds after which
    to ask again.
    """

    def __init__(
        self, status: int, sentence: str, *, param: str | None = None, code: str | None = None, retry_after: int = 0
    ) -> None:
        super().__init__(sentence)
        self.status, self.param, self.code, self.retry_after = status, param, code, retry_after

    @property
    def body(self) -> dict[str, Any]:
        """The JSON that says it."""
        kind = KINDS.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}

    @property
    def headers(self) -> dict[str, str]:
        """Headers that go with it."""
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after else {}
        return headers | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})


def failed(error: BaseException) -> Refusal:
    """What clients are told of an error of ours: which kind it was, and no more."""
    sentence = f"The engine failed ({type(error).__name__}) and gave this request up. It may be sent again."
    return Refusal(500, sentence, code="engine_failed")
