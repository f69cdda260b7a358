"""`kvlab.kernels`, labs and solutions are there however kvlab was installed, and never in Hugging Face's way."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.packaging

EXTRAS = ("lab", "notebook")

LOOK = """
import kvlab, kvlab.kernels.probe, pathlib
package = pathlib.Path(kvlab.__file__).parent
print(package)
print(kvlab.kernels.probe.WHERE, kvlab.kernels.__spec__.origin)
print(*sorted(path.name for name in ("labs", "solutions") for path in (package / name).glob("99_*.ipynb")))
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """What a command prints; it must succeed."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "KVLAB_PROGRESS")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clone(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked and new files as a fresh clone has them, links kept, with a kernel and a lab to look for."""
    target = tmp_path_factory.mktemp("clone")
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=root).split("\0")
    for name in filter(None, names):
        if (root / name).is_symlink() or (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name, follow_symlinks=False)
    (target / "kernels" / "probe.py").write_text("WHERE = __name__\n")
    for folder in ("labs", "solutions"):
        (target / folder).mkdir(exist_ok=True)
        (target / folder / "99_probe.ipynb").write_text('{"cells": []}')
    return target


@pytest.fixture(scope="module")
def built(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, the wheel made from it, and in tree/ the wheel made from the clone itself."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, clone, cwd=out)
    build = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    run(sys.executable, *build, "--wheel-dir", out / "tree", clone, cwd=out)
    return out


def install(package: Path, target: Path) -> Path:
    """Put a wheel or a source folder into an empty folder, without dependencies."""
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", target)
    run(sys.executable, "-m", "pip", "install", *options, package, cwd=target.parent)
    return target


@pytest.fixture(scope="module")
def site(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the wheel is installed."""
    return install(next(built.glob("*.whl")), tmp_path_factory.mktemp("wheel") / "site")


def look(cwd: Path, code: str = LOOK) -> list[str]:
    """Import kvlab.kernels with the standard library alone (-S: no site-packages, so not this repository's install)."""
    return run(sys.executable, "-S", "-c", code, cwd=cwd).splitlines()


def check(seen: list[str], package: Path) -> None:
    """What LOOK printed: the package comes from there, kernels (a namespace package) and both sets of notebooks."""
    assert seen == [str(package), "kvlab.kernels.probe None", "99_probe.ipynb 99_probe.ipynb"]


def test_in_place_the_links_lead_to_kernels_labs_and_solutions(clone: Path) -> None:
    check(look(clone), clone / "kvlab")


def test_an_editable_install_follows_the_links_and_keeps_the_root_off_the_path(clone: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", target)
    run(sys.executable, "-m", "pip", "install", *options, "--editable", clone, cwd=tmp_path)
    added = f"import site, sys; site.addsitedir({str(target)!r})\n"
    check(look(tmp_path, added + LOOK), clone / "kvlab")
    found = "import importlib.util; print(importlib.util.find_spec('kernels'))"
    assert look(tmp_path, added + found) == ["None"]


def test_a_wheel_carries_kernels_and_notebooks(site: Path) -> None:
    check(look(site), site / "kvlab")


def test_the_sdist_installs_to_the_same(built: Path, tmp_path: Path) -> None:
    target = install(next(built.glob("*.tar.gz")), tmp_path / "site")
    check(look(target), target / "kvlab")


def test_wheels_from_the_tree_and_from_the_sdist_hold_the_same_files(built: Path) -> None:
    contents = [set(zipfile.ZipFile(next(folder.glob("*.whl"))).namelist()) for folder in (built, built / "tree")]
    assert contents[0] == contents[1]
    assert {name.split("/")[0].split("-")[0] for name in contents[0]} == {"kvlab"}  # no top-level kernels, tests, labs
    notebooks = [name for name in contents[0] if name.startswith(("kvlab/labs/", "kvlab/solutions/"))]
    assert all(name.endswith(".ipynb") for name in notebooks)  # no build script, no sources


def test_every_module_and_data_file_of_the_tree_is_in_the_wheel(built: Path, clone: Path) -> None:
    inside = set(zipfile.ZipFile(next(built.glob("*.whl"))).namelist())
    files = [path for path in (clone / "kvlab").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    notebooks = {name for name in inside if name.endswith(".ipynb")}
    assert {path.relative_to(clone).as_posix() for path in files} <= inside
    assert len(notebooks) == sum(len(list((clone / name).glob("*.ipynb"))) for name in ("labs", "solutions"))


def test_the_installed_command_makes_labs_in_an_empty_folder(site: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    said = run(site / "bin" / "kvlab", "start", "--no-lab", cwd=empty, PYTHONPATH=str(site))
    assert (empty / "my-labs" / "99_probe.ipynb").exists() and "copied" in said
    assert "installed package" in run(site / "bin" / "kvlab", "doctor", cwd=empty, PYTHONPATH=str(site))


def test_the_installed_command_finds_what_it_needs_while_it_runs(site: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    kvlab = site / "bin" / "kvlab"
    run(kvlab, "start", "--no-lab", cwd=empty, PYTHONPATH=str(site))
    assert (empty / "my-labs" / "AGENTS.md").exists()  # the rules for assistants
    assert "block table" in run(kvlab, "guide", "03", cwd=empty, PYTHONPATH=str(site))  # answers, from the solutions
    run(kvlab, "guide", "--write", ".", cwd=empty, PYTHONPATH=str(site))
    assert (empty / "GLOSSARY.md").stat().st_size > 1000
    assert "03" in run(kvlab, "catch-up", "04", cwd=empty / "my-labs", PYTHONPATH=str(site))  # the solved labs
    where = "from kvlab.models import courier_path; print(courier_path())"
    (courier,) = run(sys.executable, "-c", where, cwd=empty, PYTHONPATH=str(site)).split()
    assert Path(courier).is_relative_to(site) and any(Path(courier).glob("*.safetensors"))


def test_the_extra_lab_has_jupyter_and_what_the_notebooks_import(site: Path) -> None:
    (metadata,) = site.glob("kvlab-*.dist-info")
    lines = importlib.metadata.Distribution.at(metadata).requires or []
    needs = {extra: {Requirement(line).name for line in lines if f'extra == "{extra}"' in line} for extra in EXTRAS}
    assert {"jupyterlab", "ipykernel", "ipywidgets", "kvlab"} <= needs["lab"]
    assert {"matplotlib", "transformers", "tqdm"} <= needs["notebook"]


def test_an_installed_course_opens_in_an_empty_folder(site: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [site / "bin" / "kvlab", "start", "--no-browser", "--port", str(port), "--", "--ServerApp.token="]
    clean = {key: value for key, value in os.environ.items() if key != "KVLAB_PROGRESS"} | {"PYTHONPATH": str(site)}
    server = subprocess.Popen(command, cwd=empty, env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        listed = answer(f"http://127.0.0.1:{port}/api/contents/00_start_here.ipynb?content=0", server)
        assert listed["name"] == "00_start_here.ipynb" and (empty / "my-labs" / "00_start_here.ipynb").exists()
    finally:
        server.terminate()
        server.wait(30)


def answer(address: str, server: subprocess.Popen[bytes], seconds: int = 60) -> dict[str, Any]:
    """The JSON at an address, once the server that is still starting gives it."""
    for _ in range(seconds * 4):
        assert server.poll() is None, "the server ended"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=10) as page:
            return json.load(page)
        time.sleep(0.25)
    raise AssertionError(f"nothing at {address} after {seconds} seconds")


# -- beside Hugging Face's package of the name `kernels`

TRANSFORMERS = """
import importlib.util, kvlab.kernels
from transformers.utils.import_utils import is_kernels_available, is_torch_available
if is_torch_available():
    import transformers.integrations.hub_kernels
spec = importlib.util.find_spec("kernels")
print(spec and spec.origin, is_kernels_available())
"""


def transformers_sees(root: Path, *extra: Path) -> list[str]:
    """Where `kernels` is found from the repository's root, and whether transformers takes it for Hugging Face's."""
    pytest.importorskip("transformers")
    path = os.pathsep.join(map(str, extra))
    return run(sys.executable, "-c", TRANSFORMERS, cwd=root, PYTHONPATH=path).splitlines()[-1].split()


def test_from_the_root_transformers_does_not_take_our_folder_for_hugging_faces(root: Path) -> None:
    installed = [distribution.metadata["Name"] for distribution in importlib.metadata.distributions()]
    if "kernels" in installed:
        pytest.skip("Hugging Face's kernels is installed in this environment")
    assert transformers_sees(root) == ["None", "False"]


def test_from_the_root_a_hugging_face_package_of_that_name_is_the_one_found(root: Path, tmp_path: Path) -> None:
    utils = pytest.importorskip("transformers.utils.import_utils")
    version = getattr(utils, "KERNELS_MIN_VERSION", "0.18.2")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.py").write_text("def __getattr__(name):\n    return type(name, (), {})\n")
    (tmp_path / f"kernels-{version}.dist-info").mkdir()
    metadata = f"Metadata-Version: 2.1\nName: kernels\nVersion: {version}\n"
    (tmp_path / f"kernels-{version}.dist-info" / "METADATA").write_text(metadata)
    assert transformers_sees(root, tmp_path) == [str(tmp_path / "kernels" / "__init__.py"), "True"]


def test_from_the_root_the_real_hugging_face_package_is_the_one_found(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--retries", "0", "--timeout", "10"]
    command += ["--constraint", str(root / "constraints.txt"), "--target", str(tmp_path), "kernels"]
    if subprocess.run(command, capture_output=True, timeout=120).returncode:
        pytest.skip("Hugging Face's kernels cannot be downloaded here")
    assert transformers_sees(root, tmp_path)[0] == str(tmp_path / "kernels" / "__init__.py")
