"""The `kvlab` command."""

from __future__ import annotations


def main() -> int:
    print("kvlab: not built yet")
    return 0
