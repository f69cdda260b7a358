"""The server as an ASGI application: OpenAI's completions and chat completions, models, health and metrics."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import time

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from transformers import PreTrainedTokenizerBase

from kvlab.serve.engine import Engine
from kvlab.serve.metrics import prometheus

from .asks import asks_for
from .door import WITHOUT_ANSWER, Door, read_body, refused
from .exchange import Exchange
from .gate import Gate
from .parsing import parse
from .refusals import Refusal
from .schema import Chat, Completion
from .settings import Settings
from .shapes import ChatShape, CompletionShape
from .texts import Texts
from .ticket import Ticket
from .worker import Worker

SMALL = 8192  # bytes of a body that is read at once; a larger one is in a thread, so that nobody waits for it


class Service:
    """One engine behind one application. model: the name that clients ask for."""

    def __init__(self, engine: Engine, tokenizer: PreTrainedTokenizerBase, model: str, settings: Settings) -> None:
        self.engine, self.model, self.settings = engine, model, settings
        self.texts = Texts(tokenizer)
        self.worker = Worker(engine, tokenizer)
        self.gate = Gate(settings.max_queue, settings.max_wait)
        self.counts: Counter[int] = Counter()
        self.since = int(time())

    async def completions(self, request: Request) -> Exchange | Response:
        """POST /v1/completions."""
        return await self._serve(request, Completion)

    async def chat(self, request: Request) -> Exchange | Response:
        """POST /v1/chat/completions."""
        return await self._serve(request, Chat)

    async def models(self, request: Request) -> Response:
        """GET /v1/models."""
        return JSONResponse({"object": "list", "data": [self._card()]})

    async def one_model(self, request: Request) -> Response:
        """GET /v1/models/NAME."""
        self._refuse_other(request.path_params["name"])
        return JSONResponse(self._card())

    async def health(self, request: Request) -> Response:
        """GET /health: 200 while requests are served, else 503."""
        if self.worker.healthy:
            return JSONResponse({"status": "ok"})
        return JSONResponse({"status": "unhealthy", "reason": self.worker.trouble}, 503)

    async def metrics(self, request: Request) -> Response:
        """GET /metrics: the engine's counters and the door's, for Prometheus."""
        lines = [
            "# HELP kvlab_http_requests_total Answers by status; 499 for clients that went away before theirs.",
            "# TYPE kvlab_http_requests_total counter",
            *(f'kvlab_http_requests_total{{status="{status}"}} {n}' for status, n in sorted(self.counts.items())),
            "# HELP kvlab_http_waiting Sequences that wait for their first token.",
            "# TYPE kvlab_http_waiting gauge",
            f"kvlab_http_waiting {self.gate.waiting}",
        ]
        text = prometheus(self.worker.stats) + "\n".join(lines) + "\n"
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def _serve(self, request: Request, kind: type[Completion] | type[Chat]) -> Exchange | Response:
        try:
            content = await read_body(request, self.settings)
        except ClientDisconnect:
            return Response(status_code=WITHOUT_ANSWER)  # nobody reads it
        if not self.worker.healthy:
            raise Refusal(503, self.worker.trouble, code="unhealthy")
        if len(content) <= SMALL:
            return self._exchange(content, kind)
        return await asyncio.to_thread(self._exchange, content, kind)

    def _exchange(self, content: bytes, kind: type[Completion] | type[Chat]) -> Exchange:
        body = parse(kind, content)
        self._refuse_other(body.model)
        prompts = self._prompts(body)
        asks = asks_for(body, prompts, self.engine, self.settings)
        prefixes: list[str] = []
        if isinstance(body, Completion) and body.echo:
            given = zip(body.prompts, prompts, strict=True)
            said = [prompt if isinstance(prompt, str) else self.texts.text(ids) for prompt, ids in given]
            prefixes = [text for text in said for _ in range(body.choices)]
        shape = (CompletionShape if isinstance(body, Completion) else ChatShape)(
            self.model, self.texts, sum(map(len, prompts)), body.alternatives is not None, prefixes
        )
        choices = len(prompts) * body.choices
        stream = bool(body.stream)
        return Exchange(self.worker, self.gate, Ticket(asks), shape, choices, stream, body.include_usage)

    def _prompts(self, body: Completion | Chat) -> Sequence[list[int]]:
        if isinstance(body, Chat):
            return [self.texts.chat([message.plain for message in body.messages])]
        return [self.texts.prompt(prompt) for prompt in body.prompts]

    def _refuse_other(self, name: str) -> None:
        if name != self.model:
            sentence = f'There is no model "{name:.100}" here, only "{self.model}".'
            raise Refusal(404, sentence, param="model", code="model_not_found")

    def _card(self) -> dict[str, object]:
        return {"id": self.model, "object": "model", "created": self.since, "owned_by": "kvlab"}


def application(service: Service) -> Starlette:
    """The ASGI application. Its lifespan is the worker's."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.worker.start(asyncio.get_running_loop())
        try:
            yield
        finally:
            await asyncio.to_thread(service.worker.stop)

    routes = [
        Route("/v1/completions", service.completions, methods=["POST"]),
        Route("/v1/chat/completions", service.chat, methods=["POST"]),
        Route("/v1/models", service.models),
        Route("/v1/models/{name:path}", service.one_model),
        Route("/health", service.health),
        Route("/metrics", service.metrics),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Door, settings=service.settings, counts=service.counts)],
        exception_handlers={Refusal: _refusal, HTTPException: _no_route, Exception: _ours},
    )
    app.router.redirect_slashes = False  # to an address made of the client's own Host header
    return app


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = f"{request.method} {request.url.path}: {error.detail}."
    answer = refused(Refusal(error.status_code, sentence))
    answer.headers.update(error.headers or {})
    return answer


async def _ours(request: Request, error: Exception) -> Response:
    """What is our own fault: a sentence without its details, which are in the server's log."""
    return refused(Refusal(500, f"The server failed ({type(error).__name__}) at this request.", code="server_failed"))
