"""What one rank says to the others: a step's integers, from rank 0 to all, and sums of tensors, among all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from kvlab.errors import KVLabError
from kvlab.memory.swap import Pairs

from .batch import Row

TIMEOUT = 60.0  # seconds that a rank waits for the others
LOADING = 600.0  # seconds in which all of them must have loaded the model
FOR_EVER = timedelta(days=3650)  # gloo must be given a limit


class RankLost(KVLabError):
    """Another rank has ended, or does not answer. What the ranks were doing cannot go on."""


class Work(NamedTuple):
    """One step as every rank carries it out on its own pools, in integers: blocks that move first, then rows that run.

    swap_out, swap_in, copies: see `kvlab.serve.plan.Plan`.
    """

    swap_out: Pairs
    swap_in: Pairs
    copies: Pairs
    rows: list[Row]

    @property
    def num_integers(self) -> int:
        """Integers that it takes to say."""
        pairs = len(self.swap_out) + len(self.swap_in) + len(self.copies)
        return 2 * pairs + sum(2 + len(row.tokens) + len(row.table) + len(row.slots) for row in self.rows)


class Link:
    """One rank's line to the others, who are found as torchrun says. One rank alone speaks to nobody.

    rank of ranks; device: where its share of the model runs. With a GPU for each rank sums go by nccl, else by gloo;
    integers always go by gloo. Whoever is left by another, or waits for it longer than `timeout` seconds, gets
    `RankLost`, and the line is closed, so that all ranks hear of it. For the next word of rank 0 there is no limit:
    nobody knows when there will be work.

    sums, summed_bytes: tensors that were summed over the ranks so far, and their bytes on one rank.
    """

    def __init__(self, rank: int, ranks: int, device: torch.device, timeout: float = TIMEOUT) -> None:
        self.rank, self.ranks, self.device, self.timeout = rank, ranks, device, timeout
        self.sums = self.summed_bytes = 0
        self._closed = False
        self._words: Any = None
        self._talk: Any = None
        self._sums: Any = None
        if ranks > 1:
            self._connect()

    def _connect(self) -> None:
        """Processes may start minutes apart, but once all are there, none waits longer than the timeout."""
        gpu, wait = self.device.type == "cuda", timedelta(seconds=self.timeout)
        with self._answered(LOADING):
            dist.init_process_group(
                "nccl" if gpu else "gloo",
                timeout=timedelta(seconds=max(LOADING, self.timeout)),
                device_id=self.device if gpu else None,
            )
            self._words = dist.new_group(backend="gloo", timeout=FOR_EVER)
            self._talk = dist.new_group(backend="gloo", timeout=wait)
            self._sums = dist.new_group(backend="nccl", timeout=wait) if gpu else self._talk

    def add(self, tensor: Tensor) -> Tensor:
        """`tensor` summed over all ranks, in place."""
        self.sums += 1
        self.summed_bytes += tensor.numel() * tensor.element_size()
        if self.ranks > 1:
            with self._answered():
                dist.all_reduce(tensor, group=self._sums)
        return tensor

    def say(self, thing: Any = None) -> Any:
        """What rank 0 says, on every rank, however long that takes; what the others give is not looked at."""
        held = [thing]
        if self.ranks > 1:
            with self._answered():
                dist.broadcast_object_list(held, src=0, group=self._words, device=torch.device("cpu"))
        return held[0]

    def collect(self, thing: Any) -> list[Any]:
        """What every rank gives, in their order, on every rank."""
        held: list[Any] = [thing] * self.ranks
        if self.ranks > 1:
            with self._answered():
                dist.all_gather_object(held, thing, group=self._talk)
        return held

    def meet(self, seconds: float = LOADING) -> None:
        """Wait until every rank is here."""
        if self.ranks == 1:
            return
        with self._answered(seconds):
            dist.monitored_barrier(self._talk, timedelta(seconds=max(seconds, self.timeout)))

    def close(self) -> None:
        """Leave the others, who hear of it at once if they wait for anything. Twice is once."""
        self._closed = True
        self._words = self._talk = self._sums = None  # the last to hold them: their sockets are closed
        if self.ranks > 1 and dist.is_initialized():
            dist.destroy_process_group()

    @contextmanager
    def _answered(self, seconds: float | None = None) -> Iterator[None]:
        """Trouble between ranks as one sentence; what it was stays as the cause."""
        if self._closed:
            raise RankLost(f"rank {self.rank} of {self.ranks} has closed its line to the others")
        try:
            yield
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            self.close()
            raise RankLost(
                f"rank {self.rank} of {self.ranks} has lost the others: one of them has ended, "
                f"or has not answered for {max(seconds or 0, self.timeout):g} seconds"
            ) from error
