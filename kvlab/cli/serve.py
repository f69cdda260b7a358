"""`kvlab serve`: a model behind OpenAI's API. `kvlab.serve.http` does the work; only it needs torch."""

from __future__ import annotations

import argparse
import os

from kvlab.cli.failure import Refused
from kvlab.mode import installed

NEEDED = ("torch", "transformers", "starlette", "uvicorn", "pydantic")
KEY = "KVLAB_API_KEY"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab serve` takes."""
    parser.epilog = (
        "It serves POST /v1/completions and /v1/chat/completions, GET /v1/models, /health and /metrics until it is "
        "interrupted. Exit status: 0 after SIGTERM, 130 after an interrupt, 1 if it could not start, 2 if asked "
        "wrongly."
    )
    _model(parser.add_argument_group("what is served"))
    _memory(parser.add_argument_group("memory and scheduling"))
    _door(parser.add_argument_group("who may ask, and for how much"))


def _model(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--model", default="courier", metavar="PATH_OR_ID", help="a folder, a hub id, or courier (default)"
    )
    group.add_argument("--name", metavar="NAME", help="what clients call it; default: as --model has it")
    group.add_argument("--host", default="127.0.0.1", help="address to listen on; default 127.0.0.1, this machine only")
    group.add_argument("--port", type=int, default=8000, help="default 8000; 0 takes any that is free, and says which")


def _memory(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--memory", type=float, metavar="GIB",
        help="for keys and values; default 0.5, on a GPU four fifths of what is free once the model is there",
    )  # fmt: skip
    group.add_argument("--blocks", type=int, metavar="N", help="blocks of the pool, instead of --memory")
    group.add_argument("--block-size", type=int, default=16, metavar="N", help="tokens of a block; default 16")
    group.add_argument("--host-blocks", type=int, default=0, metavar="N", help="to swap to; default 0: recompute")
    group.add_argument("--max-running", type=int, default=256, metavar="N", help="sequences of a step; default 256")
    group.add_argument("--token-budget", type=int, default=512, metavar="N", help="tokens of a step; default 512")
    group.add_argument(
        "--prefix", choices=("hash", "radix", "none"), default="hash",
        help="how prompts that begin alike share blocks: by a hash chain (default), a radix tree, or not at all",
    )  # fmt: skip
    group.add_argument("--checked", action="store_true", help="check every invariant after every step; slow")


def _door(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--api-key", metavar="KEY",
        help=f"what clients must send; by default {KEY} of the environment, which others on this machine do not see",
    )  # fmt: skip
    group.add_argument(
        "--max-queue", type=int, default=512, metavar="N",
        help="sequences that may wait for their first token; more are refused with 429; default 512",
    )  # fmt: skip
    group.add_argument(
        "--max-wait", type=float, default=0.0, metavar="S", help="let a request wait so long before that; default 0"
    )
    group.add_argument("--max-tokens", type=int, default=4096, metavar="N", help="of one answer; default 4096")
    group.add_argument("--max-choices", type=int, default=128, metavar="N", help="answers a request; default 128")
    group.add_argument("--max-body", type=int, default=2**20, metavar="BYTES", help="of a request; default 1048576")
    group.add_argument("--max-connections", type=int, default=1024, metavar="N", help="at once; default 1024")
    group.add_argument(
        "--drain", type=float, default=30.0, metavar="S",
        help="after SIGTERM or an interrupt, let running requests go on so long; default 30",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    missing = [name for name in NEEDED if not installed(name)]
    if missing:
        raise Refused(f"kvlab serve needs {', '.join(missing)}: pip install 'kvlab[serve]'.")
    if options.api_key is None:
        options.api_key = os.environ.get(KEY) or None
    from kvlab.serve.http.command import main

    return main(options)
