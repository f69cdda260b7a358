"""pyproject.toml and constraints.txt as the tests read them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def project() -> dict[str, Any]:
    """The [project] table."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def declared() -> list[Requirement]:
    """Every dependency that pyproject.toml declares, of the package and of its extras, our own extras left out."""
    table = project()
    lines = [*table["dependencies"], *(line for extra in table["optional-dependencies"].values() for line in extra)]
    return [found for found in map(Requirement, lines) if found.name != "kvlab"]


def pins(path: Path = ROOT / "constraints.txt") -> dict[str, Requirement]:
    """Canonical name -> the constraint, which names one exact version."""
    lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    found = [Requirement(line) for line in lines if line]
    return {canonicalize_name(pin.name): pin for pin in found}


def version(pin: Requirement) -> str:
    """The one version a constraint allows."""
    (clause,) = pin.specifier
    assert clause.operator == "==" and "*" not in clause.version, f"{pin} is no exact version"
    return clause.version
