"""One model on several GPUs, or several processes of a CPU: KV heads over ranks, one block table for all of them.

    torchrun --nproc-per-node 2 -m kvlab.serve.ranks "Where is my order?" "Can I still cancel?"

Every rank loads the model on the CPU, keeps its share (`shard_model`) and puts that on its GPU. From a notebook, where
there is no torchrun, `generate_on_ranks` starts it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedConfig, PreTrainedModel

from kvlab.errors import KVLabError, UsageError

from .generate import encode, reachable
from .hf_shards import shard_model, shards_of
from .hf_support import refuse_unsupported
from .link import Link, RankLost
from .lockstep import RankedEngine, follow
from .ranks_job import Job, OnRanks
from .ranks_launch import generate_on_ranks
from .sampling import Sampling

__all__ = ["Job", "OnRanks", "RankLost", "config_of", "generate_on_ranks", "main", "run_ranks"]


def config_of(name: str) -> PreTrainedConfig:
    """The configuration of a model; `NoModel` if there is none to be found."""
    with reachable(name) as source:
        return AutoConfig.from_pretrained(source)


def run_ranks(job: Job) -> OnRanks | None:
    """Run `job` with all the ranks that torchrun has started. The answer on rank 0, None on the others.

    Whatever makes no sense, and a model that cannot be cut, is refused before any rank speaks to another.
    """
    rank, ranks = _place()
    shards_of(config_of(job.model), ranks)
    link = Link(rank, ranks, _device(), job.timeout)
    try:
        model = _share(job.model, link)
        link.meet()
        if rank == 0:
            return _lead(job, model, link)
        link.collect(follow(model, link).cache.bytes_per_token)
        return None
    finally:
        link.close()


def _place() -> tuple[int, int]:
    """Which rank this process is, of how many."""
    try:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except KeyError as error:
        command = "torchrun --nproc-per-node 2 -m kvlab.serve.ranks ..."
        raise UsageError(f"ranks are started by torchrun, as in: {command}") from error


def _device() -> torch.device:
    """A GPU for each rank of this machine if there are enough, else the CPU for all of them."""
    here, local = int(os.environ.get("LOCAL_WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", 0))
    if torch.cuda.is_available() and torch.cuda.device_count() >= here:
        torch.cuda.set_device(local)
        return torch.device("cuda", local)
    return torch.device("cpu")


def _share(name: str, link: Link) -> PreTrainedModel:
    """This rank's share of the model, where it is to run. The whole of it is in the CPU's memory only."""
    dtype = "auto" if link.device.type == "cuda" else torch.float32
    with reachable(name) as source:
        model = AutoModelForCausalLM.from_pretrained(source, dtype=dtype)
    refuse_unsupported(model)
    shard_model(model, link.rank, link.ranks, link.add)
    return torch.nn.Module.to(model, link.device).eval()


def _lead(job: Job, model: PreTrainedModel, link: Link) -> OnRanks:
    prompts = _encoded(job)
    num_blocks = job.blocks([len(prompt) for prompt in prompts])
    engine = RankedEngine(model, link, num_blocks, job.block_size, **job.engine)
    sampling = Sampling(**job.sampling)
    asked = [engine.submit(prompt, job.max_new_tokens, sampling) for prompt in prompts]
    engine.run()
    engine.close()
    shards, stats = shards_of(model.config, link.ranks), engine.stats()
    return OnRanks(
        tokens=[generation.tokens for generation in asked],
        heads=[shard.heads for shard in shards],
        kv_heads=[shard.kv_heads for shard in shards],
        bytes_per_token=link.collect(engine.paged.cache.bytes_per_token),
        num_blocks=num_blocks,
        block_size=job.block_size,
        steps=stats.steps,
        computed_tokens=stats.computed_tokens,
        found_tokens=stats.prefix_hits,
        preemptions=stats.preemptions,
        integers=engine.sent_integers,
        sums=link.sums,
        summed_bytes=link.summed_bytes,
    )


def _encoded(job: Job) -> list[list[int]]:
    if not any(isinstance(prompt, str) for prompt in job.prompts):
        return [list(prompt) for prompt in job.prompts]  # type: ignore[arg-type]
    with reachable(job.model) as source:
        tokenizer = AutoTokenizer.from_pretrained(source)
    return [encode(tokenizer, prompt) if isinstance(prompt, str) else list(prompt) for prompt in job.prompts]


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("torchrun ... -m kvlab.serve.ranks", description="One model on several ranks.")
    parser.add_argument("prompts", nargs="*", help="what to ask, one answer each")
    parser.add_argument("--model", default="courier", metavar="PATH_OR_ID", help="a folder, a hub id, or courier")
    parser.add_argument("--max-new-tokens", type=int, default=64, metavar="N", help="at most so many; default 64")
    parser.add_argument("--num-blocks", type=int, metavar="N", help="of each rank's pools; default: enough")
    parser.add_argument("--block-size", type=int, default=16, metavar="N", help="tokens of a block; default 16")
    parser.add_argument("--prefix", choices=["hash", "radix"], help="look for prompts that were computed before")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="wait for other ranks so long")
    parser.add_argument("--job", type=Path, metavar="FILE", help="read all of that, and more, from a file instead")
    parser.add_argument("--result", type=Path, metavar="FILE", help="write the answer to a file instead")
    return parser


def _job(options: argparse.Namespace) -> Job:
    if options.job is not None:
        return Job.load(options.job)
    engine: dict[str, Any] = {} if options.prefix is None else {"prefix": options.prefix}
    return Job(
        options.prompts, options.model, options.max_new_tokens, {}, options.num_blocks, options.block_size, engine,
        options.timeout,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None, run: Callable[[Job], OnRanks | None] = run_ranks) -> int:
    """What each process of torchrun runs. Returns 2 where something is refused, with the sentence on stderr."""
    options = _arguments().parse_args(arguments)
    try:
        job = _job(options)
        found = run(job)
    except KVLabError as error:
        print(f"kvlab ranks: {error}", file=sys.stderr)
        if options.result is not None:  # for whoever started us: which rank, and what it says
            name = f"{'lost' if isinstance(error, RankLost) else 'refused'}.{os.environ.get('RANK', 0)}"
            options.result.with_name(name).write_text(str(error), encoding="utf-8")
        return 2
    if found is not None and options.result is not None:
        found.save(options.result)
    elif found is not None:
        _show(job, found)
    return 0


def _show(job: Job, found: OnRanks) -> None:
    with reachable(job.model) as source:
        tokenizer = AutoTokenizer.from_pretrained(source)
    for tokens in found.tokens:
        print(tokenizer.decode(tokens, skip_special_tokens=True))
    for rank, (heads, kv_heads, size) in enumerate(
        zip(found.heads, found.kv_heads, found.bytes_per_token, strict=True)
    ):
        print(f"rank {rank}: query heads {heads}, KV heads {kv_heads}, {size:,} bytes of cache a token")


if __name__ == "__main__":
    sys.exit(main())
