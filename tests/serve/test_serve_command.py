"""`kvlab serve` as it is started: what it says, how it ends, and why it does not start."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from openai import AuthenticationError, OpenAI

from kvlab.cli import serve
from kvlab.cli.main import main
from kvlab.serve.http import listen

SMALL = ["--memory", "0.05", "--max-running", "8"]


class Process:
    """A server of its own process; it is ended whatever happens."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        command = [sys.executable, "-m", "kvlab", "serve", "--port", "0", *SMALL, *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
        )
        assert self.process.stdout is not None
        self.first = self.process.stdout.readline()
        found = re.search(r"http://\S+/v1", self.first)
        assert found, self.first + self.process.communicate(timeout=60)[1]
        self.base_url = found[0]

    def ended(self) -> tuple[int, str, str]:
        """Exit status and what was said since the first line."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def started() -> Iterator[list[Process]]:
    processes: list[Process] = []
    yield processes
    for process in processes:
        process.process.kill()
        process.process.wait()


def test_it_streams_to_the_official_client_and_ends_well_on_sigterm_when_all_is_said(started: list[Process]) -> None:
    started.append(process := Process("--name", "mine", "--checked", KVLAB_API_KEY="secret"))
    assert process.first.startswith('kvlab serves "mine" from 1638 blocks of 16 tokens at http://127.0.0.1:')
    with pytest.raises(AuthenticationError):
        OpenAI(base_url=process.base_url, api_key="other", max_retries=0).models.list()
    ask = OpenAI(base_url=process.base_url, api_key="secret", max_retries=0, timeout=60)
    stream = ask.completions.create(model="mine", prompt="Where is", max_tokens=100, temperature=0, stream=True)
    chunks = [next(stream)]
    process.process.send_signal(signal.SIGTERM)
    chunks += list(stream)
    assert chunks[-1].choices[0].finish_reason == "length"
    status, out, err = process.ended()
    assert status == 0 and out == "kvlab has stopped serving.\n" and "secret" not in out + err


def test_an_interrupt_ends_it_within_the_time_given_to_running_requests(started: list[Process]) -> None:
    started.append(process := Process("--drain", "0.2"))
    ask = OpenAI(base_url=process.base_url, api_key="none", max_retries=0, timeout=60)
    stream = ask.completions.create(model="courier", prompt="Where is", max_tokens=1900, temperature=0, stream=True)
    next(stream)
    began = time.monotonic()
    process.process.send_signal(signal.SIGINT)
    status, _, err = process.ended()
    assert status == 130 and time.monotonic() - began < 20 and "Traceback" not in err
    with pytest.raises(httpx.ConnectError):
        httpx.get(process.base_url)


@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        (["--blocks", "0"], "--blocks is at least 1, not 0", 1),
        (["--block-size", "0"], "--block-size is at least 1", 1),
        (["--host-blocks", "-1"], "--host-blocks is at least 0", 1),
        (["--memory", "0"], "a block of keys and values needs", 1),
        (["--memory", "nan"], "a block of keys and values needs", 1),
        (["--max-queue", "-1"], "max_queue is at least 0, not -1", 1),
        (["--max-wait", "inf"], "max_wait is a number of seconds", 1),
        (["--host", "no such host"], "is no address to listen on", 1),
        (["--host", "192.0.2.1"], "cannot be listened on", 1),
        (["--port", "99999"], "ports go from 0 to 65535; there is no port 99999", 1),
        (["--port", "http"], "invalid int value", 2),
        (["--model", "/no/such-folder"], 'no model "/no/such-folder" could be loaded', 1),
        (["--prefix", "tree"], "invalid choice", 2),
    ],
)
def test_what_it_cannot_start_with_is_said_in_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str, code: int
) -> None:
    assert main(["serve", "--port", "0", *arguments]) == code
    said = capsys.readouterr()
    assert says in said.err and said.err.startswith("kvlab: ") and said.err.count("\n") == 1 and said.out == ""


def test_a_port_in_use_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with listen() as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 1
    assert f"port {port} of 127.0.0.1 is in use by another program; choose another" in capsys.readouterr().err


def test_a_missing_extra_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "installed", lambda name: name not in ("starlette", "uvicorn"))
    assert main(["serve"]) == 1
    assert capsys.readouterr().err == "kvlab: kvlab serve needs starlette, uvicorn: pip install 'kvlab[serve]'.\n"


def test_the_command_loads_nothing_heavy_before_it_runs(root: Path) -> None:
    code = "import sys; from kvlab.cli import serve; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "transformers", "starlette", "uvicorn", "pydantic"} & set(done.stdout.split())


def test_help_explains_every_option_and_every_limit(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    said = capsys.readouterr().out
    for word in ("/v1/completions", "/v1/chat/completions", "/health", "/metrics", "KVLAB_API_KEY", "429", "SIGTERM"):
        assert word in said
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    assert len(parser._actions) > 20 and all(action.help for action in parser._actions)
