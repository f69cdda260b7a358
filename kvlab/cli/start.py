"""`kvlab start`: a folder of labs to work in, and JupyterLab on the first of them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from kvlab.cli.assistants import write_rules
from kvlab.cli.copying import OLD_COPIES, Step, copy_labs
from kvlab.cli.failure import Refused
from kvlab.cli.places import DEFAULT_FOLDER, RECORD, labs, labs_folder, shown, solutions_folder
from kvlab.mode import installed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `kvlab start` takes."""
    parser.add_argument("folder", nargs="?", metavar="DIR", help=f"your folder; default {DEFAULT_FOLDER}")
    parser.add_argument("--no-lab", action="store_true", help="copy the labs and stop there")
    parser.add_argument("--no-browser", action="store_true", help="start JupyterLab without opening a browser")
    parser.add_argument("--port", type=int, help="the port JupyterLab listens on (it takes the next free one)")
    parser.epilog = "What follows a lone -- is passed on to JupyterLab as it is."


def _folder(given: str | None) -> Path:
    """The folder to fill. Without a name: the current one if labs were copied there before, else my-labs/."""
    if given is None:
        return Path(".") if Path(RECORD).exists() else Path(DEFAULT_FOLDER)
    folder = Path(given)
    course = (labs_folder(), solutions_folder())
    if folder.resolve() in course or any(above in course for above in folder.resolve().parents):
        raise Refused(f"{given} belongs to the course itself, and updates would overwrite your work. Name another.")
    return folder


def _told(step: Step) -> str | None:
    """The sentence about one lab, if there is one to say."""
    name = Path(step.lab).stem
    if step.did == "refreshed":
        return f"{name}: refreshed; you had not worked in it. The old version is kept in {OLD_COPIES}/."
    if step.did == "offered":
        return f"{name}: changed in the course. Yours is untouched; the new one lies beside it as {step.file.name}."
    return None


def summary(steps: list[Step], folder: Path) -> list[str]:
    """What happened, in a line for all that was copied or kept and one for each lab that changed in the course."""
    count = {did: sum(step.did == did for step in steps) for did in ("copied", "kept")}
    parts = [f"{count['copied']} lab{'s' * (count['copied'] != 1)} copied"] if count["copied"] else []
    parts += [f"{count['kept']} already there and left as they are"] if count["kept"] else []
    lines = [f"{shown(folder)}: {', '.join(parts)}."] if parts else []
    return lines + [line for line in map(_told, steps) if line]


def jupyter_command(first: Path, port: int | None, no_browser: bool, extra: list[str]) -> list[str]:
    """The command that serves the folder of `first` on this machine only and opens that lab."""
    command = [sys.executable, "-m", "jupyterlab", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.root_dir={first.parent.absolute()}", f"--LabApp.default_url=/lab/tree/{first.name}"]
    command += [f"--ServerApp.port={port}"] if port is not None else []
    command += ["--no-browser"] if no_browser else []
    if getattr(os, "geteuid", lambda: 1)() == 0:  # in most containers; JupyterLab refuses root unless told
        command.append("--allow-root")
    return command + extra


def _prepend(variable: str, folder: Path) -> None:
    """Put a folder before the others of a search path in the environment."""
    os.environ[variable] = os.pathsep.join(filter(None, [str(folder), os.environ.get(variable, "")]))


def serve(command: list[str]) -> int:
    """Run JupyterLab until it is stopped. It takes this process's place where it can, so Ctrl-C reaches it once."""
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")  # the kernel that has kvlab, before the user's other ones
    _prepend("PATH", Path(sys.executable).parent)  # so that `!kvlab doctor` in a notebook finds this installation's
    _prepend("JUPYTER_CONFIG_PATH", Path(__file__).parent / "jupyter")  # defaults: no question about news
    sys.stdout.flush()
    if os.name == "posix":
        os.execv(command[0], command)
    return subprocess.call(command)


def run(options: argparse.Namespace) -> int:
    """Copy the labs, say what happened, and start JupyterLab unless told not to."""
    folder = _folder(options.folder)
    sources = list(labs(labs_folder()).values())
    if not sources:
        raise Refused("The course has no labs yet. In a clone, build them with: make notebooks")
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{shown(folder)} is a file. Name a folder: kvlab start DIR")
    print("\n".join(summary(copy_labs(sources, folder), folder)))
    write_rules(folder)
    if options.no_lab:
        return 0
    if not installed("jupyterlab"):
        raise Refused("JupyterLab is not installed in this Python. Install it with: pip install 'kvlab[lab]'")
    first = folder / sources[0].name
    print(f"Starting JupyterLab on {shown(first)}. Ctrl-C in this window stops it.")
    return serve(jupyter_command(first, options.port, options.no_browser, options.passed_on))
