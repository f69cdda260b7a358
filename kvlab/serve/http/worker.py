"""The thread that steps the engine. Requests come to it, and what they led to goes from it, through queues.

The engine is synchronous and belongs to this thread alone: between two steps it takes in new requests and lets go of
those whose clients went away. Each step's news go to the event loop in one call.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from transformers import PreTrainedTokenizerBase

from kvlab.errors import InvariantBroken, KVLabError
from kvlab.serve.engine import Engine

from .answer import Answer, Piece
from .refusals import Refusal, failed
from .ticket import Ask, Ticket

LOG = logging.getLogger(__name__)
PATIENCE = 3  # steps that may fail in a row before the engine is given up


class Worker:
    """Serves tickets with `engine`, from `start()` to `stop()`. Called from the event loop only.

    healthy: false once the engine has failed in a way that makes its state doubtful; then every ticket is refused.
    """

    def __init__(self, engine: Engine, tokenizer: PreTrainedTokenizerBase) -> None:
        self._engine, self._tokenizer = engine, tokenizer
        self._wake = threading.Condition()
        self._orders: deque[tuple[Callable[[Ticket], None], Ticket]] = deque()
        self._stopping = False
        self._tickets: dict[Ticket, None] = {}  # the thread's own, in order of arrival
        self._news: list[tuple[Ticket, Piece | Refusal | None]] = []
        self._failures = 0
        self.healthy, self.trouble = True, ""
        self.stats = engine.stats()
        self._thread = threading.Thread(target=self._run, name="kvlab engine", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; news go to `loop`."""
        self._loop = loop
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        """Let the engine begin with a ticket between two steps."""
        self._order(self._begin, ticket)

    def abort(self, ticket: Ticket) -> None:
        """Let go of a ticket: nobody waits for it any more. One that has ended stays as it is."""
        self._order(self._drop, ticket)

    def stop(self) -> None:
        """End all tickets, and the thread when its step is over."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _order(self, what: Callable[[Ticket], None], ticket: Ticket) -> None:
        with self._wake:
            self._orders.append((what, ticket))
            self._wake.notify()

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._turn()
            except Exception as error:  # whatever it was: clients are told, and the server goes on
                self._give_up(error)
            self._post()
            with self._wake:
                idle = not self._engine.has_work or not self.healthy
                if idle and not self._orders and not self._stopping:
                    self._wake.wait()
        self._fail_all(Refusal(503, "The server is shutting down.", code="shutting_down"))
        self._post()

    def _turn(self) -> None:
        while self._orders:
            what, ticket = self._orders.popleft()
            what(ticket)
        if self.healthy and self._engine.has_work:
            self._engine.step()
            self._failures = 0
            for ticket in list(self._tickets):
                self._collect(ticket)
        self.stats = self._engine.stats()

    def _begin(self, ticket: Ticket) -> None:
        if not self.healthy:
            self._news.append((ticket, Refusal(503, self.trouble, code="unhealthy")))
            return
        self._tickets[ticket] = None
        try:
            for ask in ticket.asks:
                ticket.answers += self._submit(ticket, ask, len(ticket.answers))
        except InvariantBroken:  # no fault of the request, and nothing to be served on
            raise
        except KVLabError as error:
            self._refuse(ticket, Refusal(400, f"{str(error)[:1].upper()}{str(error)[1:]}."))
        except Exception as error:
            LOG.exception("a request could not be begun")
            self._refuse(ticket, failed(error))

    def _submit(self, ticket: Ticket, ask: Ask, first: int) -> list[Answer]:
        options = ask.max_new_tokens, ask.sampling
        if ask.n == 1 or ask.sampling.greedy:  # greedy answers are all the same: one is made
            one = self._engine.submit(ask.prompt, *options, alternatives=ask.alternatives)
            ticket.requests.append(one)
            generations = [one] * ask.n
        else:
            samples = self._engine.sample(ask.prompt, ask.n, *options, alternatives=ask.alternatives)
            ticket.requests.append(samples)
            generations = samples.samples
        return [Answer(first + i, each, self._tokenizer, ask.stops) for i, each in enumerate(generations)]

    def _collect(self, ticket: Ticket) -> None:
        """Post what is new of a ticket; stop those of its answers that have come to a text that ends them."""
        try:
            pieces = [answer.take() for answer in ticket.answers]
        except Exception as error:  # a tokenizer that stumbles over one answer is no reason to end the others
            LOG.exception("an answer could not be put into words")
            self._refuse(ticket, failed(error))
            return
        for answer, piece in zip(ticket.answers, pieces, strict=True):
            if piece is not None:
                self._news.append((ticket, piece))
                if piece.reason is not None:
                    self._engine.stop(answer.generation)
        if all(answer.reason is not None for answer in ticket.answers):
            del self._tickets[ticket]
            self._news.append((ticket, None))

    def _refuse(self, ticket: Ticket, refusal: Refusal) -> None:
        self._news.append((ticket, refusal))
        self._drop(ticket)

    def _drop(self, ticket: Ticket) -> None:
        if ticket in self._tickets:
            del self._tickets[ticket]
            for request in ticket.requests:
                self._engine.abort(request)

    def _give_up(self, error: Exception) -> None:
        """A step failed: end what ran, and go on if what is left makes sense."""
        LOG.error("a step failed", exc_info=error)
        self._failures += 1
        doubtful = isinstance(error, InvariantBroken) or self._failures >= PATIENCE
        try:
            self._fail_all(failed(error))
            self._engine.check()
            self.stats = self._engine.stats()
        except Exception:
            doubtful = True
        if doubtful:  # the sentence first, as clients may look in between
            self.trouble = f"The engine failed ({type(error).__name__}) and cannot be relied on: restart the server."
            self.healthy = False

    def _fail_all(self, refusal: Refusal) -> None:
        tickets = list(self._tickets)
        self._news += [(ticket, refusal) for ticket in tickets]
        for ticket in tickets:
            self._drop(ticket)

    def _post(self) -> None:
        news, self._news = self._news, []
        if news:
            try:
                self._loop.call_soon_threadsafe(_deliver, news)
            except RuntimeError:  # the loop is closed: nobody listens any more
                pass


def _deliver(news: Sequence[tuple[Ticket, Piece | Refusal | None]]) -> None:
    for ticket, item in news:
        ticket.inbox.put_nowait(item)
