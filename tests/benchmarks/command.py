"""What the benchmarks' command lines have in common: sizes as options, and the figures in a file."""

from __future__ import annotations

import argparse
import json
from typing import Any


def parser(doc: str | None, **sizes: int) -> argparse.ArgumentParser:
    """Options with these names and defaults, and `--json`; `doc` is shown as it is written."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in sizes.items():
        made.add_argument(f"--{name}", type=int, default=default)
    made.add_argument("--json", help="also write the figures to this file")
    return made


def keep(figures: Any, path: str | None) -> None:
    """Write the figures to the file that was asked for, if any."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
