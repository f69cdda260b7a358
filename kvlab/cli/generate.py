"""`kvlab generate`: ask a model on paged memory. `kvlab.serve.generate` does the work; only it needs torch."""

from __future__ import annotations

import argparse

from kvlab.cli.failure import Refused
from kvlab.mode import installed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab generate` takes."""
    parser.add_argument("prompt", help="what to ask; - reads it from the standard input")
    parser.add_argument(
        "--model", default="courier", metavar="PATH_OR_ID", help="a folder, a hub id, or courier (default)"
    )
    parser.add_argument("--max-new-tokens", type=int, metavar="N", help="at most so many; default 256")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 (default) always takes the most likely token")
    parser.add_argument("--top-p", type=float, default=1.0, help="sample from the tokens that make up this probability")
    parser.add_argument("--top-k", type=int, default=0, help="sample from so many tokens; 0 (default): all")
    parser.add_argument("--seed", type=int, help="the same seed gives the same answer")
    parser.add_argument("--n", type=int, metavar="N", help="so many sampled answers, each with a number before it")
    parser.add_argument("--beams", type=int, metavar="W", help="the answer of a beam search with so many beams")
    parser.add_argument(
        "--raw", action="store_true", help="give the prompt as it is, without the model's chat template"
    )


def run(options: argparse.Namespace) -> int:
    """Print the answer as it comes."""
    if not (installed("torch") and installed("transformers")):
        raise Refused("kvlab generate needs torch and transformers: pip install 'kvlab[serve]'.")
    from kvlab.serve.generate import main

    return main(options)
