# `make lab` opens the course, `make test` runs every test. Both set up .venv themselves and are quick the second time.
# Nothing else is needed but Python 3.11 or newer. README.md has the same as plain commands.

PYTHON ?= python3
WORKERS ?= 2
LAB_ARGS ?=
PYTEST_ARGS ?=
BENCH_ARGS ?=
TRITONS ?=
CPU_INDEX ?= https://download.pytorch.org/whl/cpu

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet --quiet --constraint constraints.txt
PYTEST := $(PY) -m pytest
PARALLEL := -n $(WORKERS) --dist=loadscope

.DEFAULT_GOAL := help
.PHONY: help lab test quick bench notebooks check tritons setup torch

# A clone that was moved, or whose Python went away, gets a new .venv: scripts in the old one name the old place.
ifneq ($(shell test -x $(PY) && cat $(VENV)/.made 2>/dev/null),$(CURDIR))
$(shell rm -f $(VENV)/.made $(VENV)/.packages $(VENV)/.torch)
endif

help:
	@echo "make lab        set up, copy the labs to my-labs/ (never overwriting), open JupyterLab on lab 00"
	@echo "                LAB_ARGS='--no-browser --port 8899' is passed to 'kvlab start'"
	@echo "make test       set up and run every test, notebooks included"
	@echo "make quick      the tests without notebooks, browser, packaging, benchmarks and what is slow"
	@echo "make bench      the benchmarks alone, with their figures"
	@echo "make notebooks  build labs/ and the solved notebooks from solutions/*.py, and the answers in docs/"
	@echo "make check      ruff and mypy"
	@echo "make tritons    the kernel tests with the oldest and the newest Triton (some 400 MB, the first time only)"
	@echo "make torch      try again to install torch"
	@echo "PYTHON=python3.12 chooses the Python that .venv is made of"

lab: setup
	@$(PY) -m kvlab start my-labs $(LAB_ARGS)

test: setup
	@$(PYTEST) $(PARALLEL) tests $(PYTEST_ARGS)

quick: setup
	@$(PYTEST) $(PARALLEL) tests -m "not notebooks and not browser and not packaging and not benchmark and not slow" $(PYTEST_ARGS)

bench: setup
	@for file in tests/benchmarks/bench_*.py; do \
	  $(PY) -m tests.benchmarks.$$(basename $$file .py) $(BENCH_ARGS) || exit 1; done

notebooks: setup
	@$(PY) solutions/build.py
	@$(PY) -m kvlab guide --write docs

check: setup
	@$(PY) -m ruff check .
	@$(PY) -m mypy

tritons: setup
	@$(PY) -m tests.kernels.versions $(TRITONS)

setup: $(VENV)/.packages $(VENV)/.torch

torch:
	@rm -f $(VENV)/.torch
	@$(MAKE) --no-print-directory $(VENV)/.torch

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "$(PYTHON) was not found. Install Python 3.11 or newer, or name one: make lab PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) -V 2>&1), and the course needs 3.11 or newer. Name one: make lab PYTHON=python3.12"; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: sudo apt install python3-venv"; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) -V)."
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "$(CURDIR)" > $@

$(VENV)/.packages: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing kvlab and what it needs (about 150 MB, the first time only)."
	@$(PIP) --editable '.[lab,dev]' || { \
	  echo "That did not work. If the network was at fault, the same command picks up where it stopped."; exit 1; }
	@touch $@

# torch comes apart from the rest, since labs 00-03 run without it. On Linux the default index has a CUDA build of several
# GB: where there is no GPU, PyTorch's own index of CPU builds is asked first, briefly.
$(VENV)/.torch: $(VENV)/.packages
	@echo "Installing torch and Triton (about 400 MB without a GPU, several GB with one)."
	@if [ "$$(uname -s)" = Linux ] && $(PY) -c 'import sys, kvlab; sys.exit(kvlab.has_gpu())'; then \
	  $(PIP) --no-deps --retries 1 --timeout 15 --index-url $(CPU_INDEX) torch >/dev/null 2>&1 || true; fi
	@$(PIP) --retries 2 --editable '.[torch]' || $(PIP) --retries 2 torch \
	  || echo "torch could not be installed. Labs 00-03 run without it; 'make torch' tries again."
	@touch $@
