"""Ranks started from a notebook: torchrun as a process of its own, on this machine alone, and ended with it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import AutoConfig, PreTrainedModel

import kvlab
from kvlab.errors import KVLabError

from .generate import reachable
from .hf_shards import shards_of
from .hf_support import refuse_unsupported
from .link import RankLost
from .ranks_job import Job, OnRanks

PROGRAM = "kvlab.serve.ranks"  # what each rank runs
LIMIT = 600.0  # seconds for everything
GRACE = 10.0  # seconds in which processes that are told to end do


class Refused(KVLabError):
    """A rank refused its part of the job. The sentence is the rank's."""


def generate_on_ranks(
    prompts: Sequence[Sequence[int] | str],
    ranks: int = 2,
    *,
    model: PreTrainedModel | str = "courier",
    max_new_tokens: int = 32,
    limit: float = LIMIT,
    **options: Any,
) -> OnRanks:
    """Answers to `prompts` by one model on `ranks` processes, and what each of them holds.

    prompts: token ids, or text. model: a name, as for `kvlab generate`, or a model, which is saved for the processes to
    load. limit: seconds for everything. options: `sampling`, `num_blocks`, `block_size`, `timeout` and `engine` of
    `Job`.

    The ranks run on this machine's GPUs if there is one for each, else on its CPU, and speak over 127.0.0.1. What
    cannot be cut is refused with `Unsupported` before any process is started; what a rank refuses comes back as
    `Refused`; a rank that ends or hangs, or the limit, as `RankLost`. No process is left behind, also after an
    interrupt.
    """
    with tempfile.TemporaryDirectory(prefix="kvlab-ranks-") as folder:
        here = Path(folder)
        if isinstance(model, str):
            with reachable(model) as source:
                config = AutoConfig.from_pretrained(source)
            source = str(Path(source).resolve()) if Path(source).exists() else source
        else:
            refuse_unsupported(model)
            source, config = str(here / "model"), model.config
        shards_of(config, ranks)
        if not isinstance(model, str):
            model.save_pretrained(source)
        job = Job(list(prompts), source, max_new_tokens, **options)
        job.save(here / "job.json")
        said = torchrun(ranks, PROGRAM, ["--job", str(here / "job.json"), "--result", str(here / "result")], limit)
        return read_result(here, said)


def environment() -> dict[str, str]:
    """This process's, in which the same kvlab is found, and ranks speak over the loopback interface."""
    found = dict(os.environ)
    paths = [str(Path(kvlab.__file__).resolve().parent.parent), *filter(None, [found.get("PYTHONPATH")])]
    found["PYTHONPATH"] = os.pathsep.join(paths)
    found.setdefault("OMP_NUM_THREADS", "1")  # what torchrun would set, with a warning
    loopback = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    if loopback:
        found.update(GLOO_SOCKET_IFNAME=loopback[0])
    return found


def torchrun(ranks: int, program: str, arguments: Sequence[str], limit: float = LIMIT) -> str:
    """Run the module `program` on `ranks` processes of this machine to their end. Returns the end of what they printed.

    `RankLost` if that takes longer than `limit` seconds; then, and after an interrupt, all of them are ended.
    """
    local = ["--standalone", "--local-addr", "127.0.0.1", "--monitor-interval", "0.1", "--shutdown-timeout", "5"]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), *local, "-m", program]
    with tempfile.TemporaryDirectory(prefix="kvlab-ranks-") as folder:  # nothing there hides a module from `-m`
        with (Path(folder) / "said").open("w+", encoding="utf-8", errors="replace") as said:
            with _ending([*command, *arguments], cwd=folder, env=environment(), stdout=said, stderr=said) as process:
                try:
                    process.wait(limit)
                except subprocess.TimeoutExpired as error:
                    raise RankLost(f"the ranks have not come to an end in {limit:g} seconds") from error
            said.seek(0)
            return "\n".join(said.read().strip().splitlines()[-20:])


@contextmanager
def _ending(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, which has ended with everybody in it when the block is left."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()  # torchrun tells its ranks
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def read_result(folder: Path, said: str) -> OnRanks:
    """The answer, or what the ranks said in its place: a refusal rather than that others are lost by it."""
    for kind, trouble in (("refused", Refused), ("lost", RankLost)):
        for path in sorted(folder.glob(f"{kind}.*")):
            raise trouble(path.read_text(encoding="utf-8"))
    if not (folder / "result").exists():
        raise RankLost(f"the ranks ended without an answer; the last they said was\n{said}")
    return OnRanks.load(folder / "result")
