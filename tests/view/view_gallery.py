"""Writes every picture of the labs as PNG, to be looked at: `python tests/view/view_gallery.py FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from kvlab import bench as b
from kvlab import memory as m
from kvlab import view as v
from kvlab.serve.policies import Policies, always_swap
from kvlab.serve.report import Report
from kvlab.serve.simulate import simulate
from kvlab.serve.system_runs import Machine, Outcome, chat_trace
from kvlab.serve.systems import side_by_side

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
WAYS = {"one by one": (90.0, 1), "static batches": (1200.0, 64), "reserved": (2500.0, 64), "paged": (4100.0, 411)}
SMALLER = ("Llama-2-7B", "Llama-3-8B", "Gemma-3-12B", "DeepSeek-V3")


def _throughput(limits: dict[str, int] | None = None) -> v.Picture:
    shape = m.LLAMA_3_8B.bytes_per_token
    return v.batch_throughput(shape, 1267.5, m.WEIGHT_BYTES, m.KV_BYTES, m.BANDWIDTH, limits)


def _waste() -> v.Picture:
    trace = m.sharegpt_like(400, 1)
    wastes = {name: m.replay(trace, name, allocator="buddy").waste for name in ("full", "power of two", "oracle")}
    return v.waste_bars(wastes | {"16-token blocks": m.replay(trace, "16-token blocks").waste})


def _blocks(sizes: tuple[int, ...] = SIZES) -> v.Picture:
    lengths = [request.total for request in m.lesson_trace()]
    return v.block_size_curve(m.block_size_sweep(lengths, sizes), len(lengths))


def _roofline(device: str = "H200 invented for tests", kinds: tuple[str, ...] = ("decode",)) -> v.Picture:
    """A run that nobody measured: every system a fixed share of the law, and the picture says that it is invented."""
    cases = [*b.decode_cases(), *b.prefill_cases(), *b.write_cases()]
    shares = {"kvlab": 0.95, "copy": 1.0, "SDPA, contiguous": 0.9, "PyTorch, paged": 0.2}
    run = b.Run({"name": device, "gpu": True}, {"kvlab": "0"}, "2000-01-01T00:00:00+00:00")
    for case in cases:
        for system, share in shares.items():
            seconds = b.LAW.seconds(case.bytes) / share
            spread = b.Spread(seconds, seconds, seconds, 20)
            run.measurements.append(b.Measurement(case, system, case.bytes, spread))
    return v.roofline([run], kinds)


@cache
def _reports() -> dict[str, Report]:
    """One load, served with less memory than it needs by pages, with and without a host, and by reservations."""
    trace = m.poisson_arrivals(m.sharegpt_like(120, 1), 20.0, 1)
    few = {"capacity": 18_000}
    return {
        "pages": simulate(trace, **few),
        "pages, 4,000 on the host": simulate(trace, **few, host_blocks=4000, policies=Policies(swap=always_swap)),
        "reserve 8k": simulate(trace, "full", **few),
    }


@cache
def _systems() -> dict[str, Outcome]:
    """The seven systems on a few chats, with less memory than they would like."""
    return side_by_side(chat_trace(16), Machine(capacity=4096))


def _timeline() -> v.Picture:
    """The same load with and without a host to swap to, on a pool that is too small."""
    trace = m.make_trace("many", [200] * 60, [400] * 60)
    reports = {
        name: simulate(trace, capacity=8192, host_blocks=blocks, policies=Policies(swap=always_swap))
        for name, blocks in (("swapped to the host", 4096), ("recomputed", 0))
    }
    return v.timeline(reports)


CHARTS: dict[str, Callable[[], v.Picture]] = {
    "throughput": _throughput,
    "throughput_limits": lambda: _throughput({"reserve 8k": 64, "reserve prompt + 2,048": 177, "16-token blocks": 411}),
    "answers": lambda: v.answer_histogram(m.lesson_trace()),
    "answers_of_two": lambda: v.answer_histograms({"simulated": m.lesson_trace(), "short ones": m.alpaca_like(250, 4)}),
    "published": lambda: v.published_bars(m.published_table(m.lesson_trace())),
    "published_half": lambda: v.published_bars(m.published_table(m.lesson_trace())[:2]),
    "waste": _waste,
    "blocks": _blocks,
    "blocks_few": lambda: _blocks((1, 8, 16, 32, 64, 256)),
    "gathered": lambda: v.gathered_bytes(m.LLAMA_3_8B.bytes_per_token, m.WEIGHT_BYTES),
    "roofline": _roofline,
    "systems": lambda: v.systems_side_by_side(_systems()),
    "roofline_all": lambda: _roofline("GPU invented for tests", ("decode", "prefill", "write")),
    "roofline_predicted": lambda: v.roofline([]),
    "smaller": lambda: v.smaller_caches({name: m.PRESETS[name] for name in SMALLER}, m.CONTEXT, m.KV_BYTES),
    "ways": lambda: v.served_ways(WAYS, "Invented for tests"),
    "simulated": lambda: v.simulated(_reports()),
    "simulated_one": lambda: v.simulated(_reports()["pages"]),
    "simulated_over_time": lambda: v.simulated_over_time(_reports()),
    "simulated_over_time_one": lambda: v.simulated_over_time(_reports()["reserve 8k"]),
    "timeline": _timeline,
    "strip_full": lambda: v.arena_strip(m.lesson_trace(), policy="full", steps=600),
    "strip_power_of_two": lambda: v.arena_strip(m.lesson_trace(), policy="power of two"),
}
EXPLORERS: dict[str, Callable[[], v.Explorer]] = {
    "policies": lambda: v.policy_explorer().start(policy="prompt+max", written=50),
    "pool": lambda: v.pool_explorer().start(event=17),
    "pool_large": lambda: v.pool_explorer(m.lesson_trace(), 4096).start(event=3000),
    "samples": lambda: v.share_explorer().start(event=3),
    "beams": lambda: v.share_explorer("beams").start(event=4),
    "prefixes": lambda: v.prefix_explorer().start(event=2),
    "arena": lambda: v.arena_explorer(steps=400).start(step=300),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in CHARTS.items():
        (folder / f"{name}.png").write_bytes(make().png)
    for name, make_explorer in EXPLORERS.items():
        explorer = make_explorer()
        (folder / f"{name}.png").write_bytes(explorer.at().png)
        (folder / f"{name}_card.png").write_bytes(explorer._repr_mimebundle_()[0]["image/png"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
