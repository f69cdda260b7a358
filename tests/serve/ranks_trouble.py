"""What a rank hears when another stops answering, and when another dies: `python -m tests.serve.ranks_trouble`.

Rank 0 first has a partner that stops, then one that dies; it writes what it was told.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import torch

from kvlab.serve.link import Link, RankLost

TIMEOUT = 3.0  # seconds


def lost(port: str, timeout: float) -> str:
    """What rank 0 is told when its partner at `port` is lost."""
    os.environ["MASTER_PORT"] = port
    link = Link(0, 2, torch.device("cpu"), timeout)
    link.add(torch.ones(3))
    try:
        link.collect(1)
    except RankLost as error:
        return str(error)
    finally:
        link.close()
    return ""


def main(part: str, ports: list[str], path: Path) -> None:
    """Rank 0, or the partner that `part` names."""
    if part == "first":
        path.write_text(json.dumps([lost(ports[0], TIMEOUT), lost(ports[1], 60.0)]), encoding="utf-8")
        return
    os.environ["MASTER_PORT"] = ports[part == "dies"]
    link = Link(1, 2, torch.device("cpu"), 60.0)
    link.add(torch.ones(3))
    os.kill(os.getpid(), signal.SIGSTOP if part == "stops" else signal.SIGKILL)


if __name__ == "__main__":
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["RANK"], os.environ["WORLD_SIZE"] = "0" if sys.argv[1] == "first" else "1", "2"
    main(sys.argv[1], sys.argv[2:4], Path(sys.argv[4]))
