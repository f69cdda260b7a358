"""Run the kernel tests with other Tritons than the one installed.

    python -m tests.kernels.versions                       the oldest that is supported and the newest there was
    python -m tests.kernels.versions 3.6.0 --in FOLDER     one of them, kept in FOLDER/triton-3.6.0

Each version is unpacked into a folder of its own, which comes first on the path; the environment stays as it is. A
folder that is there already is used as it is. Options after `--` go to pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests/kernels", "tests/failures/test_kernels.py")
BESIDE = {"3.6.0": ["numpy<2.4"], "3.9.0": []}  # what a version needs: the interpreter of 3.6 fails with numpy 2.4


def unpacked(version: str, folder: Path) -> list[Path]:
    """Where the version and what it needs lie, to be put first on the path."""
    places = []
    for package in (f"triton=={version}", *BESIDE.get(version, [])):
        name = package.split("=")[0].split("<")[0]
        place = folder / (f"triton-{version}" if name == "triton" else f"triton-{version}-{name}")
        if not (place / name).is_dir():
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
            subprocess.run([*command, "--target", str(place), package], check=True)
        places.append(place)
    return places


def environment(places: list[Path]) -> dict[str, str]:
    """The environment with these places, then the repository, first on the path."""
    path = [*map(str, places), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}


def run(version: str, folder: Path, options: list[str]) -> bool:
    """Whether the tests pass with `version`, and whether it was really that one that ran."""
    variables = environment(unpacked(version, folder))
    look = [sys.executable, "-c", "import kvlab, triton; print(triton.__version__)"]
    found = subprocess.run(look, cwd=ROOT, env=variables, capture_output=True, text=True, check=True).stdout.strip()
    print(f"== the kernel tests with triton {found}", flush=True)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", *TESTS, *options], cwd=ROOT, env=variables)
    return found == version and done.returncode == 0


def main() -> int:
    """0 if every version passes."""
    given, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", help=f"by default {' '.join(BESIDE)}")
    kept = ROOT / ".venv" / "tritons"
    parser.add_argument("--in", dest="folder", type=Path, default=kept, help="where they are kept")
    asked = parser.parse_args(given.split())
    verdicts = {version: run(version, asked.folder, options.split()) for version in asked.versions or BESIDE}
    for version, passed in verdicts.items():
        print(f"triton {version}: {'passed' if passed else 'FAILED'}")
    return 0 if all(verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
