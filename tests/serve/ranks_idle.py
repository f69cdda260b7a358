"""An engine over two ranks that idles, fails, and is lost: `python -m tests.serve.ranks_idle PART PORTS... FOLDER`.

The part "leads" is rank 0 to one partner after the other: one "follows" while the engine idles and once more while a
step fails, one "stops" in a step, and one "waits" while rank 0 dies. Each writes what it saw into the folder.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kvlab.serve.hf_shards import shard_model
from kvlab.serve.link import Link, Work
from kvlab.serve.lockstep import RankedEngine, follow
from kvlab.serve.scheduler import Stuck
from tests.serve.models import prompt, tiny

SHORT, LONG = 2.0, 100.0  # seconds of a timeout that passes here, and of one that must not be waited for
BLOCKS = 4  # of 4 slots
PARTNERS = {"idle": "follows", "broken": "follows", "hung": "stops", "dead": "waits"}


def line(case: str, rank: int, ports: list[str]) -> tuple[Any, Link]:
    """A rank's share of the model, and its line to the other in one case."""
    os.environ["MASTER_PORT"] = ports[list(PARTNERS).index(case)]
    link = Link(rank, 2, torch.device("cpu"), SHORT if case in ("idle", "hung") else LONG)
    model = copy.deepcopy(tiny("llama"))
    shard_model(model, rank, 2, link.add)
    link.meet()
    return model, link


def told(do: Callable[[], Any]) -> tuple[str, float]:
    """The kind of error that something ends with, and after how many seconds."""
    began, kind = time.monotonic(), ""
    try:
        do()
    except Exception as error:
        kind = type(error).__name__
    return kind, time.monotonic() - began


def idles(model: Any, link: Link) -> list[list[int]]:
    """Answers after the engine has idled, twice, and after a step that failed before anybody was told of it."""
    engine, said = RankedEngine(model, link, BLOCKS, 4), []
    for number in range(3):
        if number == 2:
            stick(engine)
        else:
            time.sleep(1.5 * SHORT)
        asked = engine.submit(prompt(5, number), 4)
        engine.run()
        said.append(asked.tokens)
    for _ in range(2):  # to say so twice is to say so once
        engine.close()
    link.collect(link.rank)
    link.close()
    return said


def stick(engine: RankedEngine) -> None:
    """A request that cannot go on, as its pool is held by somebody else: no rank is told of the step that it needs."""
    held = engine.manager.pool.take(BLOCKS - 1)
    asked = engine.submit(prompt(4, 9), 4)
    assert told(engine.run)[0] == Stuck.__name__
    engine.abort(asked)
    engine.manager.pool.release(held)


def breaks(model: Any, link: Link) -> tuple[str, str, float]:
    """A step fails on rank 0 alone, and the engine is closed: what both come to."""
    engine = RankedEngine(model, link, BLOCKS, 4)
    engine.submit(prompt(5), 4)
    engine.paged.forward = lambda batch: 1 / 0  # type: ignore[method-assign]
    kind, _ = told(engine.step)
    return kind, *told(engine.close)


def lead(ports: list[str], folder: Path) -> None:
    """Rank 0 in every case. It goes on living until it dies of the last."""
    seen: dict[str, Any] = {"idle": idles(*line("idle", 0, ports))}
    model, link = line("broken", 0, ports)
    seen["broken"] = breaks(model, link)
    while not (folder / "follows").exists():  # the partner has ended by what `close` did, and not with this process
        time.sleep(0.05)
    link.close()
    model, link = line("hung", 0, ports)
    engine = RankedEngine(model, link, BLOCKS, 4)
    engine.submit(prompt(5), 4)
    seen["hung"] = told(engine.step)
    link.close()
    (folder / "leads").write_text(json.dumps(seen), encoding="utf-8")
    engine = RankedEngine(*line("dead", 0, ports), BLOCKS, 4)
    engine.submit(prompt(5), 4)
    engine.run()
    os.kill(os.getpid(), signal.SIGKILL)


def followed(model: Any, link: Link) -> None:
    """Follow to the end, and say that it has come to one, as ranks do that are let go of."""
    follow(model, link)
    link.collect(link.rank)


def say_and_stop(say: Callable[[], Any]) -> Any:
    """What rank 0 says; but once it is a step, this process stops."""
    thing = say()
    if isinstance(thing, Work):
        os.kill(os.getpid(), signal.SIGSTOP)
    return thing


def partner(part: str, ports: list[str], folder: Path) -> None:
    """Rank 1 in the cases of one part."""
    seen = {}
    for case in [case for case, whose in PARTNERS.items() if whose == part]:
        model, link = line(case, 1, ports)
        if part == "stops":
            link.say = functools.partial(say_and_stop, link.say)  # type: ignore[method-assign]
        seen[case] = told(functools.partial(followed, model, link))
        link.close()
    (folder / part).write_text(json.dumps(seen), encoding="utf-8")


if __name__ == "__main__":
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["RANK"], os.environ["WORLD_SIZE"] = "0" if sys.argv[1] == "leads" else "1", "2"
    part, ports, folder = sys.argv[1], sys.argv[2:-1], Path(sys.argv[-1])
    if part == "leads":
        lead(ports, folder)
    else:
        partner(part, ports, folder)
