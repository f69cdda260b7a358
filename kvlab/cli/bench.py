"""`kvlab bench`: how fast the kernels are on this GPU. `kvlab.bench` measures; only that needs torch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kvlab import bench
from kvlab.bench.checkout import benchmarks, run_benchmarks
from kvlab.bench.grid import all_cases
from kvlab.bench.session import FAILED
from kvlab.bench.table import report
from kvlab.cli.failure import Refused
from kvlab.cli.places import shown
from kvlab.mode import installed

WHAT = {
    "decode": "one new token a sequence attends to its context",
    "prefill": "prompts, and chunks of prompts, attend to theirs",
    "write": "keys and values of new tokens go to their slots",
    "all": "all of these, in less than five minutes",
    "report": "print the tables of a stored run again",
    "memory": "the benchmarks of the CPU, which a clone carries",
}
ELSEWHERE = 3  # exit status: this machine cannot do it


def numbers(text: str) -> list[int]:
    """"1,8,4k" -> [1, 8, 4096]; k is 1,024. Anything else is refused as argparse does."""
    found = []
    for part in text.split(","):
        digits, k = (part[:-1], 1024) if part[-1:].lower() == "k" else (part, 1)
        if not digits.isdecimal() or not int(digits):
            raise argparse.ArgumentTypeError(f'"{part}" is no number from 1, such as 16 or 4k')
        found.append(int(digits) * k)
    return found


def dtypes(text: str) -> list[str]:
    """"bf16,fp8" -> the names, each a type that a GPU is measured with."""
    found = text.split(",")
    unknown = [name for name in found if name not in ("bf16", "fp16", "fp8")]
    if unknown:
        raise argparse.ArgumentTypeError(f'there is no type "{unknown[0]}", only bf16, fp16 and fp8')
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab bench` takes."""
    parser.epilog = "kvlab bench WHAT --help says what each takes. Exit status 3: this machine cannot measure that."
    kinds = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    made = {name: kinds.add_parser(name, help=words, description=words) for name, words in WHAT.items()}
    for name in ("decode", "prefill", "write", "all"):
        made[name].add_argument("--json", metavar="FILE", help="write the run there, to be reported again or stored")
        made[name].add_argument("--seconds", type=float, default=270.0, help="begin no case after so many; default 270")
        made[name].add_argument("--memory", type=float, metavar="GIB", help="use at most so much of the GPU's memory")
    for name in ("decode", "prefill", "write", "all", "report"):
        made[name].add_argument("--plot", metavar="PNG", help="draw achieved GB/s against bytes")
    for name in ("decode", "prefill", "write"):
        made[name].add_argument("--block-size", type=numbers, metavar="N,N", help="tokens a block, such as 16,64")
        made[name].add_argument("--dtype", type=dtypes, metavar="T,T", help="of the pools: bf16, fp16, fp8")
    made["decode"].add_argument("--batch", type=numbers, metavar="N,N", help="sequences, such as 1,8,32")
    made["decode"].add_argument("--context", type=numbers, metavar="N,N", help="tokens of each, such as 1k,4k")
    made["decode"].add_argument("--group", type=numbers, metavar="N,N", help="query heads that share a KV head")
    made["report"].add_argument("file", metavar="FILE", help="what --json wrote")
    made["memory"].add_argument("--only", metavar="NAME", help=f"one of {', '.join(benchmarks()) or 'none here'}")


def _cases(options: argparse.Namespace) -> list[bench.Case]:
    if options.what == "all":
        return all_cases()
    sizes = options.block_size, options.dtype
    if options.what == "decode":
        return bench.decode_cases(options.batch, options.context, sizes[0], options.group, sizes[1])
    return (bench.prefill_cases if options.what == "prefill" else bench.write_cases)(*sizes)


def _check_targets(options: argparse.Namespace) -> None:
    """Refuse now what would be refused after five minutes of measuring."""
    for path in filter(None, (getattr(options, "json", None), options.plot)):
        if not Path(path).absolute().parent.is_dir() or Path(path).is_dir():
            raise Refused(f"{path} cannot be written: name a file in a folder that is there.", code=2)
    if options.plot and not installed("matplotlib"):
        raise Refused("--plot needs matplotlib: pip install 'kvlab[lab]'.")


def _show(run: bench.Run, plot: str | None) -> None:
    print(report(run))
    if plot:
        from kvlab.view.figures_roofline import roofline

        kinds = [kind for kind in ("decode", "prefill", "write") if run.of(kind)]
        Path(plot).write_bytes(roofline([run], kinds or ["decode"]).png)
        print(f"\nThe figure is in {shown(Path(plot))}.")


def _measure(options: argparse.Namespace) -> int:
    obstacle = bench.why_not(options.what)
    if obstacle is not None:
        aside = "The CPU benchmarks run with: kvlab bench memory"
        raise Refused(f"kvlab bench {options.what} {obstacle} {aside}", ELSEWHERE)
    memory = None if options.memory is None else options.memory * 2**30
    tell = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: E731
    run = bench.measure(_cases(options), seconds=options.seconds, memory=memory, tell=tell)
    if options.json:
        bench.write(run, options.json)
    _show(run, options.plot)
    if options.json:
        print(f"\nThe run is in {shown(Path(options.json))}.")
    broken = [entry for entry in run.left_out if entry.why.startswith(FAILED)]
    return 1 if broken or not run.measurements else 0


def _memory(options: argparse.Namespace) -> int:
    there = benchmarks()
    if not there:
        raise Refused("This installation of kvlab carries no tests, and the CPU benchmarks are among them. "
                      "In a clone of the course, kvlab bench memory or make bench runs them.", ELSEWHERE)  # fmt: skip
    if options.only and options.only not in there:
        raise Refused(f'There is no benchmark "{options.only}", only {", ".join(there)}.', code=2)
    failed = run_benchmarks([options.only] if options.only else there)
    if failed:
        raise Refused(f"{', '.join(failed)} did not run to the end; what it said stands above.")
    return 0


def run(options: argparse.Namespace) -> int:
    """Measure, or report what was measured. Nothing is printed that was not measured."""
    if options.what == "memory":
        return _memory(options)
    _check_targets(options)
    if options.what == "report":
        _show(bench.read(options.file), options.plot)
        return 0
    return _measure(options)
