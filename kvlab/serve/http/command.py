"""`kvlab serve`: a model loaded, an engine made for it, and a server on a socket, until a signal ends it."""

from __future__ import annotations

import argparse
import logging
import signal
import sys

import torch
from transformers import PreTrainedModel

from kvlab.errors import UsageError
from kvlab.memory import KVShape
from kvlab.serve.engine import Engine
from kvlab.serve.generate import load

from .app import Service
from .server import is_loopback, listen, server_for, url_of
from .settings import Settings

ON_A_CPU = 0.5  # GiB for keys and values
OF_A_GPU = 0.8  # of the memory that is free there


def num_blocks(model: PreTrainedModel, block_size: int, gib: float | None) -> int:
    """Blocks of keys and values that fit in so many GiB; None: 0.5, or four fifths of what a GPU has free.

    `UsageError` if that is not one.
    """
    if gib is None and model.device.type == "cuda":
        gib = OF_A_GPU * torch.cuda.mem_get_info(model.device)[0] / 2**30
    gib = ON_A_CPU if gib is None else gib
    block = block_size * KVShape.from_config(model.config, bytes_per_number=model.dtype.itemsize).bytes_per_token
    blocks = int(gib * 2**30) // block if 0 < gib < float("inf") else 0
    if blocks < 1:
        raise UsageError(f"a block of keys and values needs {block} bytes, and --memory gives {gib:g} GiB")
    return blocks


def engine_for(model: PreTrainedModel, options: argparse.Namespace) -> Engine:
    """The engine that the options describe; `UsageError` for one that cannot be."""
    counts = {"--block-size": options.block_size, "--max-running": options.max_running}
    counts |= {"--token-budget": options.token_budget}
    counts |= {"--blocks": options.blocks} if options.blocks is not None else {}
    for name, count in counts.items():
        if count < 1:
            raise UsageError(f"{name} is at least 1, not {count}")
    if options.host_blocks < 0:
        raise UsageError(f"--host-blocks is at least 0, not {options.host_blocks}")
    blocks = options.blocks or num_blocks(model, options.block_size, options.memory)
    return Engine(
        model,
        blocks,
        options.block_size,
        max_running=options.max_running,
        token_budget=options.token_budget,
        checked=options.checked,
        prefix=None if options.prefix == "none" else options.prefix,
        host_blocks=options.host_blocks,
    )


def settings_for(options: argparse.Namespace) -> Settings:
    """The limits that the options name."""
    return Settings(
        api_key=options.api_key,
        max_queue=options.max_queue,
        max_wait=options.max_wait,
        max_tokens=options.max_tokens,
        max_choices=options.max_choices,
        max_body=options.max_body,
        max_connections=options.max_connections,
        drain_seconds=options.drain,
    )


def main(options: argparse.Namespace) -> int:
    """Serve until SIGTERM (0) or an interrupt (`KeyboardInterrupt`). What cannot be raises a `KVLabError` first."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    settings = settings_for(options)
    with listen(options.host, options.port) as listener:  # before the model, which may take a minute to load
        url = url_of(listener)
        model, tokenizer = load(options.model)
        engine = engine_for(model, options)
        name = options.name or options.model
        server = server_for(Service(engine, tokenizer, name, settings))
        blocks = f"{engine.num_blocks} blocks of {engine.block_size} tokens"
        print(f'kvlab serves "{name}" from {blocks} at {url}/v1', flush=True)
        if not is_loopback(options.host) and settings.api_key is None:
            print("Other machines may reach it, and it asks for no API key.", file=sys.stderr, flush=True)
        # uvicorn takes the signal over while it runs, and raises it again once all has ended: that is no reason to die
        before = signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
        try:
            server.run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)
    print("kvlab has stopped serving.", flush=True)
    return 0
