"""The `kvlab` command: what it takes, and how it says that it cannot."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import NoReturn

import kvlab
from kvlab.cli.failure import Refused, unknown
from kvlab.errors import KVLabError

COMMANDS = {
    "start": "copy the labs into a folder of yours, never overwriting, and open JupyterLab on the first",
    "doctor": "print what a bug report needs: versions, machine, which mode the labs run in",
    "generate": "ask a model (a folder, a hub id, or the course's own) and see the answer come, on paged memory",
    "serve": "serve a model to OpenAI's clients, on paged memory: completions and chats, streamed, many at once",
    "bench": "measure the kernels on a GPU, beside a copy and PyTorch; or run the benchmarks of the CPU",
    "progress": "show the course at a glance: what passed, what is left",
    "grade": "grade learners' notebooks: each exercise in a process of its own, compared outside; table, CSV, JSON",
    "room": "show a class from its progress files: who is where, who is stuck, which mistake is most frequent",
    "reset": "put an exercise back as it was, after a backup of the notebook",
    "catch-up": "fill in the solutions of the labs before LAB, for someone joining late",
    "guide": "print a lab's answers and likely wrong answers, for whoever teaches it",
    "slides": "write a lab as slides without answers: one HTML file that needs no network",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Refuse in one sentence instead of argparse's usage dump."""
        raise Refused(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help", code=2)


def _module(command: str):
    """The module of a command. Only the one that runs is imported, so that `doctor` answers in a broken install too."""
    return importlib.import_module(f"kvlab.cli.{command.replace('-', '_')}")


def _general_help() -> str:
    lines = [f"  {name:<10}{text}" for name, text in COMMANDS.items()]
    return "\n".join(["usage: kvlab COMMAND ...", "", *lines, "", "kvlab COMMAND --help says what a command takes."])


def _run(arguments: list[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if command in ("-h", "--help", "help"):
        print(_general_help())
        return 0
    if command in ("-V", "--version"):
        print(f"kvlab {kvlab.__version__}")
        return 0
    if command not in COMMANDS:
        raise unknown("command", command, COMMANDS, f"There are {', '.join(COMMANDS)}.")
    module = _module(command)
    parser = _Parser(prog=f"kvlab {command}", description=COMMANDS[command])
    module.add_arguments(parser)
    own, passed_on = _split(rest)
    if passed_on and command != "start":
        raise Refused("Only kvlab start passes options on after --.", code=2)
    return module.run(parser.parse_args(own, argparse.Namespace(passed_on=passed_on)))


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What stands before the first "--", and what after it: JupyterLab's own options, whatever they look like."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:cut], arguments[cut + 1 :]


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Exit status: 0 done, 1 could not, 2 asked wrongly, 3 not on this machine,
    130 interrupted. Never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a console without the signs that verdicts use prints "?" and goes on
            stream.reconfigure(errors="replace")
    try:
        status = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return status
    except Refused as refused:
        print(f"kvlab: {refused}", file=sys.stderr)
        return refused.code
    except KVLabError as error:
        print(f"kvlab: {error}", file=sys.stderr)
    except BrokenPipeError:  # whoever read the output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        what = f"{error.strerror or error}{where}. Nothing of yours was overwritten."
        print(f"kvlab: the system refused: {what}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1

