"""The places beside one's own machine: what their files say is well formed, and agrees with the rest of the house."""

from __future__ import annotations

import importlib
import io
import json
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
import yaml
from matplotlib.image import imread

from kvlab.cli.main import COMMANDS
from kvlab.cli.places import labs
from kvlab.memory import lesson_trace
from kvlab.view.settings import POLICIES, Knobs, row
from tests.house.project import project
from tests.labs.notebooks import cells, committed, names

ADDRESS = project()["urls"]["Source"]
REPOSITORY = ADDRESS.removeprefix("https://github.com/")

# The keys that values.yaml may use, each read in the chart's values.schema.yaml (Zero to JupyterHub); None: anything.
CHART: dict[str, Any] = {
    "hub": {"config": None},
    "proxy": {"https": {"enabled": None, "hosts": None, "letsencrypt": {"contactEmail": None}}},
    "singleuser": {
        "image": {"name": None, "tag": None},
        "defaultUrl": None,
        "startTimeout": None,
        "memory": {"guarantee": None, "limit": None},
        "cpu": {"guarantee": None, "limit": None},
        "storage": {"capacity": None},
        "extraEnv": None,
        "lifecycleHooks": {"postStart": None},
        "profileList": None,
    },
    "cull": {"enabled": None, "timeout": None, "every": None},
    "prePuller": {"hook": {"enabled": None}},
}


def text(root: Path, name: str) -> str:
    """A file of the repository."""
    return (root / name).read_text(encoding="utf-8")


def links(root: Path, start: str) -> list[str]:
    """The addresses on the page that begin so."""
    return re.findall(rf"{re.escape(start)}[^\s)]*", text(root, "docs/WHERE.md"))


def unknown(values: dict[str, Any], known: dict[str, Any], above: str = "") -> list[str]:
    """Keys of the values that are not among the known ones, as paths."""
    found = [f"{above}{key}" for key in values if key not in known]
    for key in set(values) & set(known):
        if known[key] is not None:
            found += unknown(values[key], known[key], f"{above}{key}.")
    return found


# -- the public address


@pytest.mark.parametrize("name", ["README.md", "docs/WHERE.md", "docs/COMMANDS.md"])
def test_a_page_names_one_address_of_the_course(root: Path, name: str) -> None:
    page = text(root, name).replace("%2F", "/")
    assert set(re.findall(r"(?:github\.com|github|mybinder\.org/v2/gh)/([\w.-]+/kvlab)", page)) <= {REPOSITORY}


# -- Colab


def colab_cell(name: str) -> nbformat.NotebookNode:
    """The cell of a lab that installs the course on Colab."""
    (cell,) = [cell for cell in committed("labs", name).cells if cell.id == "colab"]
    return cell


@pytest.mark.parametrize("name", names())
def test_the_first_code_cell_of_a_lab_is_the_one_for_colab(name: str) -> None:
    assert cells(committed("labs", name), "code")[0].source == colab_cell(name).source
    assert f"git+{ADDRESS}" in colab_cell(name).source
    assert colab_cell(name).metadata.jupyter.source_hidden


def run_cell(monkeypatch: pytest.MonkeyPatch, *modules: str, found: bool = False) -> list[list[str]]:
    """The commands that the cell runs where these modules are imported, and kvlab is or is not found."""
    asked: list[list[str]] = []
    for module in modules:
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if found else None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: asked.append(command))
    exec(colab_cell(names()[0]).source, {})
    return asked


def test_the_cell_installs_the_course_on_colab_once_and_does_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_cell(monkeypatch) == []
    ((*pip, wanted),) = run_cell(monkeypatch, "google.colab")
    assert pip == [sys.executable, "-m", "pip", "install", "--quiet"] and wanted.endswith(f"git+{ADDRESS}")
    assert run_cell(monkeypatch, "google.colab", found=True) == []


def test_what_the_cell_installs_leaves_the_jupyter_of_colab_alone() -> None:
    extras = project()["optional-dependencies"]
    asked = re.search(r"kvlab\[([a-z,]+)\]", colab_cell(names()[0]).source)
    assert asked
    wanted = " ".join(line for extra in asked[1].split(",") for line in extras[extra])
    assert not re.search(r"jupyterlab|ipykernel|ipywidgets|kvlab\[lab\]", wanted) and "matplotlib" in wanted


def test_each_lab_has_its_colab_link(root: Path) -> None:
    start = f"https://colab.research.google.com/github/{REPOSITORY}/blob/main/labs/"
    linked = {link.removeprefix(start) for link in links(root, start)}
    assert {path.name for path in labs(root / "labs").values()} == linked


# -- Binder and nbgitpuller


def test_the_binder_link_opens_the_first_lab_of_the_copies(root: Path) -> None:
    (link,) = links(root, "https://mybinder.org/v2/")
    parts = urlsplit(link)
    assert parts.path == f"/v2/gh/{REPOSITORY}/main"
    assert parse_qs(parts.query) == {"urlpath": [f"lab/tree/my-labs/{labs(root / 'labs')['00'].name}"]}


def test_the_nbgitpuller_link_pulls_the_course_and_opens_a_lab_in_it(root: Path) -> None:
    (link,) = links(root, "https://hub.example.org/")
    parts, query = urlsplit(link), parse_qs(urlsplit(link).query)
    assert parts.path == "/hub/user-redirect/git-pull" and set(query) == {"repo", "branch", "urlpath"}
    assert query["repo"] == [ADDRESS] and query["branch"] == ["main"]
    folder, _, inside = query["urlpath"][0].removeprefix("lab/tree/").partition("/")
    assert folder == REPOSITORY.split("/")[1] and (root / inside).exists()


# -- JupyterHub


def test_the_values_have_the_keys_of_the_chart(root: Path) -> None:
    values = yaml.safe_load(text(root, "hub/values.yaml"))
    assert unknown(values, CHART) == []
    assert unknown({"cull": {"timeOut": 1}, "users": {}}, CHART) == ["users", "cull.timeOut"]
    assert values["hub"]["config"]["Authenticator"]["allowed_users"], "a hub that lets nobody or everybody in"


def test_learners_choose_between_a_machine_with_and_without_a_gpu(root: Path) -> None:
    without, with_gpu = yaml.safe_load(text(root, "hub/values.yaml"))["singleuser"]["profileList"]
    assert without["default"] and "kubespawner_override" not in without
    override = with_gpu["kubespawner_override"]
    assert override["extra_resource_limits"] == {"nvidia.com/gpu": "1"} and override["image"].endswith(":gpu")
    assert set(override) == {"image", "mem_guarantee", "mem_limit", "extra_resource_limits"}  # traits of KubeSpawner


def test_a_server_starts_with_the_labs_copied_by_a_command_there_is(root: Path) -> None:
    hook = yaml.safe_load(text(root, "hub/values.yaml"))["singleuser"]["lifecycleHooks"]["postStart"]["exec"]["command"]
    assert hook[:2] == ["sh", "-c"] and hook[2].endswith("|| true")
    words = shlex.split(hook[2])
    assert words[words.index("kvlab") + 1] in COMMANDS and words[words.index("my-labs") + 1] == "--no-lab"


def test_the_image_is_built_from_files_extras_and_a_python_there_are(root: Path) -> None:
    recipe = text(root, "hub/Dockerfile")
    assert f"FROM python:{text(root, 'binder/runtime.txt').strip().removeprefix('python-')}-" in recipe
    extras = {extra for group in re.findall(r"'\.\[([a-z,]+)\]'", recipe) for extra in group.split(",")}
    assert extras and extras <= set(project()["optional-dependencies"])
    installs = re.findall(r"pip install [^&\\]*'\.\[", recipe)
    assert installs and all("--constraint constraints.txt" in line for line in installs)
    assert ".venv" in text(root, ".dockerignore").splitlines()


# -- an editor's container, and GitHub's workflow


def test_the_devcontainer_is_json_and_calls_goals_and_commands_there_are(root: Path) -> None:
    container = json.loads(text(root, ".devcontainer/devcontainer.json"))
    assert container["image"].endswith(text(root, "binder/runtime.txt").strip().removeprefix("python-"))
    make, start = (shlex.split(part) for part in container["postCreateCommand"].split("&&"))
    assert make[0] == "make" and re.search(rf"^{make[1]}:", text(root, "Makefile"), re.MULTILINE)
    assert start[:4] == [".venv/bin/python", "-m", "kvlab", "start"] and start[-1] == "--no-lab"


def test_the_workflow_runs_what_ci_runs_and_the_quick_tests_on_pythons_that_are_allowed(root: Path) -> None:
    workflow = yaml.safe_load(text(root, ".github/workflows/tests.yml"))
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML reads `on` as true
    whole, quick = workflow["jobs"]["all"], workflow["jobs"]["quick"]
    assert whole["steps"][-1]["run"] == ".ci/run" and whole["runs-on"] == "ubuntu-latest"
    (version,) = [step["with"]["python-version"] for step in whole["steps"] if "python-version" in step.get("with", {})]
    assert version == text(root, "binder/runtime.txt").strip().removeprefix("python-")
    goals = [word for word in quick["steps"][-1]["run"].split()[1:] if "=" not in word]
    assert all(re.search(rf"^{goal}:", text(root, "Makefile"), re.MULTILINE) for goal in goals) and "quick" in goals
    assert workflow["permissions"] == {"contents": "read"}


# -- the front page's picture


def test_the_picture_of_the_front_page_is_small_and_is_what_its_script_draws(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(root / "docs")
    front_page = importlib.import_module("front_page")
    committed_, drawn = imread(front_page.PICTURE), imread(io.BytesIO(front_page.picture()))
    assert front_page.PICTURE.stat().st_size < 200_000
    assert committed_.shape == drawn.shape and abs(committed_ - drawn).mean() < 0.01  # versions draw letters apart


def test_the_words_beside_the_picture_are_its_numbers(root: Path) -> None:
    (alt,) = re.findall(r"!\[([^\]]+)\]\(docs/front_page\.png\)", text(root, "README.md"))
    said = [(int(fit), float(share)) for fit, share in re.findall(r"(\d+)\s+requests,\s+([\d.]+)\s+percent", alt)]
    rows = [row(lesson_trace(), policy, Knobs()) for policy in POLICIES]
    assert said == [(shown.fit, round(100 * shown.share_held, 1)) for shown in rows]
