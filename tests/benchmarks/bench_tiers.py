"""What tiers save on courier: chats whose blocks are evicted between turns, and the length from which loading pays.

python -m tests.benchmarks.bench_tiers [--users 6] [--turns 3] [--blocks 30] [--longest 1024] [--rounds 3] [--json PATH]

Chats: several users in turn on a pool that has lost each conversation by its next question, without tiers, with a host
tier, with a disk tier, and with both. A figure is the ratio of medians of the time to the first token over all turns
but each chat's first, beside the prompt tokens that were computed for them. Break-even: prompts of 16 tokens and more,
computed and loaded in turns within one run; from the length given on loading was never slower.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kvlab.memory import DiskTier, HostTier, Tier
from kvlab.models import load_courier
from kvlab.serve.breakeven import measure_reload, measured_break_even
from kvlab.serve.chats import compare_chats, courier_chats
from tests.benchmarks import command

ROOM = 4096
KINDS = ("host", "disk", "both")


@contextmanager
def tiers(kind: str) -> Iterator[Callable[[], list[Tier]]]:
    """What makes the tiers of that kind, on a disk folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        host, disk = (lambda: HostTier(ROOM)), (lambda: DiskTier(folder, ROOM))
        made: dict[str, list[Callable[[], Tier]]] = {"host": [host], "disk": [disk], "both": [host, disk]}
        yield lambda: [make() for make in made[kind]]


def measure(users: int, turns: int, blocks: int, longest: int, rounds: int) -> dict[str, dict]:
    """All figures, by kind of tiers."""
    model, tokenizer = load_courier()
    lengths = [16 << step for step in range(20) if 16 << step <= longest]
    figures: dict[str, dict] = {}
    for kind in KINDS:
        with tiers(kind) as make:
            chats = compare_chats(model, tokenizer, courier_chats(users, turns), blocks, make)
        with tiers(kind) as make:
            reload = measure_reload(model, make, lengths, rounds=rounds)
        figures[kind] = {
            "same answers": chats.same_answers,
            "computed": chats.computed,
            "first token": chats.speedup,
            "reload": {one.tokens: one.ratio for one in reload},
            "break-even": measured_break_even(reload),
        }
    return figures


def main() -> None:
    """Measure and print."""
    options = command.parser(__doc__, users=6, turns=3, blocks=30, longest=1024, rounds=3).parse_args()
    figures = measure(options.users, options.turns, options.blocks, options.longest, options.rounds)
    for kind, row in figures.items():
        without, tiered = row["computed"]
        same = "the same answers" if row["same answers"] else "OTHER ANSWERS"
        print(f"{kind:5} later turns: {without} prompt tokens computed without, {tiered} with; {same}")
        print(f"      the first token takes {row['first token']:.2f} times as long without")
        ratios = ", ".join(f"{tokens}: {ratio:.2f}" for tokens, ratio in row["reload"].items())
        print(f"      computing over loading, by tokens: {ratios}; break-even at {row['break-even']}")
    command.keep(figures, options.json)


if __name__ == "__main__":
    main()
