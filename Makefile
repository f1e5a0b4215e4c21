# make run    set everything up and open the lab in the browser
# make test   everything that proves it: checks, then all tests, real strategies and real Chromium
# make test-long  the tests that make test leaves out because they take long: each night
# make test-oldest  the tests of TensorFlow and of the page, on the oldest ones supported, in a venv of its own
# make test-nightly  the tests of private TensorFlow API, on TensorFlow's nightly build, likewise
# make test-ray  a run whose processes Ray places, with Ray in a venv of its own
# make test-tensorboard  the tab in TensorBoard, with TensorBoard in a venv of its own
# make test-jupyter  the lab through JupyterLab, with JupyterLab in a venv of its own
# make test-mlflow  the export to MLflow, with its server in a venv of its own
# make test-gpu  what only a machine with GPUs can prove; fails without one
# make docs   the documentation as a site, in site/; a broken link fails
# make reference  the pages of docs/ that are made from the code: command line, RunSpec, tables...
# make recordings  the recordings of the Contexts page's demonstrations and of the lecture, recorded again
# make figures  the figures of docs/figures.md, measured again
# make check  style, types, architecture and the fast tests: below two minutes on two cores
# Each one installs what it needs into .venv first.

VENV := .venv
BIN := $(VENV)/bin
# The newest Python that TensorFlow and Streamlit both support; set PYTHON to choose another.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' \
	2>/dev/null && echo $$p && break; done)
LOCKS := requirements
INSTALL := python $(LOCKS)/install.py
LOCKED := $(INSTALL) --require-hashes
OWN := --no-deps --no-build-isolation --editable .

# Without cached bytecode every test process compiles the tests again and rewrites their asserts,
# 5 s each, and every worker process compiles the lab.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test test-long in-process browser together test-oldest test-nightly test-ray test-mlflow test-tensorboard test-jupyter test-gpu check lint quick docs reference recordings figures lock clean

run: $(VENV)/.runs
	$(BIN)/strategy-lab

# Two jobs at a time, because a test waits for a process, a page or an import much of its time.
# Tests of real workers follow, in three processes: each waits for starts and ends of others a third
# of its time. Those that measure time run alone.
ALONE := alone
BROWSER := browser and not alone
WORKERS := run and not (browser or alone)
IN_PROCESS := tf and not (run or browser or alone)
REST := not (tf or run or browser or alone)
QUICK := $(REST) and not slow
SIDE_BY_SIDE := --numprocesses 3 --dist loadfile
# `daily`: all but the tests marked `long`, which `make test-long` runs (tests/parts.py).
PART := daily
test: $(VENV)/.tests
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint browser in-process together
	$(BIN)/python -m pytest --part $(PART) $(SIDE_BY_SIDE) -m "$(WORKERS)"
	$(BIN)/python -m pytest --part $(PART) -m "$(ALONE)"

test-long:
	$(MAKE) test PART=long

in-process: $(VENV)/.tests
	$(BIN)/python -m pytest --part $(PART) -m "$(IN_PROCESS)"

browser: $(VENV)/.tests
	$(BIN)/python -m pytest --part $(PART) -m "$(BROWSER)"

together: $(VENV)/.tests
	$(BIN)/python -m pytest --part $(PART) --numprocesses auto --dist loadfile -m "$(REST)"

# Side by side, because mypy without its cache takes half as long as the tests.
check: $(VENV)/.tests
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint quick

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

quick: $(VENV)/.tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m "$(QUICK)"

# Its versions are those of the lower end, and of today where that does not say.
OLDEST := .venv-oldest
OLDEST_PYTHON ?= $(shell command -v python3.11 || command -v python3.12)
test-oldest: $(OLDEST)/.tests
	$(OLDEST)/bin/python -m pytest -m "(tf or run) and not browser"
	$(OLDEST)/bin/python -m pytest -m "not (tf or run)" tests/app tests/e2e/test_run_pages_browser.py

$(OLDEST)/.tests: pyproject.toml $(LOCKS)/oldest.txt
	@test -n "$(OLDEST_PYTHON)" || { echo "The oldest supported TensorFlow needs Python 3.11 or 3.12, and neither is installed. Install one, or set OLDEST_PYTHON."; exit 2; }
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/$(INSTALL) --upgrade "pip>=25.1"  # which knows groups
	$(OLDEST)/bin/$(INSTALL) --constraint $(LOCKS)/oldest.txt --group build --editable .[test]
	@touch $@

NIGHTLY := .venv-nightly
NIGHTLY_PYTHON ?= $(PYTHON)
# Made again each time: yesterday's nightly build says nothing of today's.
test-nightly:
	rm -rf $(NIGHTLY)
	$(NIGHTLY_PYTHON) -m venv $(NIGHTLY)
	$(NIGHTLY)/bin/$(INSTALL) --editable .[test]
	$(NIGHTLY)/bin/python -m pip uninstall --quiet --disable-pip-version-check --yes tensorflow keras
	$(NIGHTLY)/bin/$(INSTALL) tf-nightly
	$(NIGHTLY)/bin/python -c "import tensorflow as tf; print('TensorFlow', tf.__version__)"
	$(NIGHTLY)/bin/python -m pytest tests/strategy_core/private_tf $(wildcard tests/plugins/*/test_private_tf.py)

# Ray brings its own way of starting processes: not among the packages that all of the rest needs.
RAY := .venv-ray
test-ray: $(RAY)/.tests
	$(RAY)/bin/python -m pytest tests/plugins/ray/ray_check.py

# MLflow's server brings another forty packages, and needs an older pyarrow.
MLFLOW := .venv-mlflow
test-mlflow: $(MLFLOW)/.tests
	$(MLFLOW)/bin/python -m pytest tests/plugins/mlflow/mlflow_check.py

$(MLFLOW)/.tests: pyproject.toml $(LOCKS)/mlflow.lock
	$(PYTHON) -m venv $(MLFLOW)
	$(MLFLOW)/bin/$(LOCKED) -r $(LOCKS)/mlflow.lock
	$(MLFLOW)/bin/$(INSTALL) $(OWN)
	@touch $@

# Each test says on which card it holds. TensorFlow with CUDA replaces none of .venv's packages.
test-gpu: $(VENV)/.tests
	$(BIN)/python -m pytest --gpus tests/engines/gpu_check.py

# With TensorBoard installed, TensorFlow takes tf.summary from it: not among the packages of .venv.
BOARD := .venv-tensorboard
test-tensorboard: $(BOARD)/.tests
	$(BOARD)/bin/python -m pytest tests/plugins/tensorboard/tensorboard_check.py

# Likewise: the lab is a tile of the launcher.
JUPYTER := .venv-jupyter
test-jupyter: $(JUPYTER)/.tests
	$(JUPYTER)/bin/python -m pytest tests/plugins/notebook/jupyter_check.py

$(RAY)/.tests $(BOARD)/.tests $(JUPYTER)/.tests: .venv-%/.tests: pyproject.toml $(LOCKS)/test.lock $(LOCKS)/%.lock
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/$(LOCKED) -r $(LOCKS)/test.lock -r $(LOCKS)/$*.lock
	.venv-$*/bin/$(INSTALL) $(OWN)
	@touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The pages that the code writes.
reference: $(VENV)/.runs
	$(BIN)/python -m tests.reference.cli > docs/cli.md
	$(BIN)/python -m tests.reference.advice > docs/advice.md
	$(BIN)/python -m benchmarks.figures --render
	$(BIN)/python -m tests.reference.glossary > docs/glossary.md
	$(BIN)/python -m tests.reference.run_folder > docs/run-folder.md
	$(BIN)/python -m tests.reference.run_spec > docs/run-spec.md
	$(BIN)/python -m tests.reference.tables > docs/tables.md
	$(BIN)/python -m tests.plugins.failures.reference > plugins/failures/README.md

# What the Contexts page shows without TensorFlow.
recordings: $(VENV)/.runs
	$(BIN)/python -m strategy_contexts.ship
	$(BIN)/python -m strategy_contexts.lecture.ship

$(VENV)/.docs: $(VENV)/.runs $(LOCKS)/docs.lock
	$(BIN)/$(LOCKED) -r $(LOCKS)/docs.lock
	@touch $@

# Every figure of docs/figures.md that is a number, measured here; wants a quiet machine and hours.
# PARTS="startup 'reconfigure --places'" are some benchmarks, or commands of one.
figures: $(VENV)/.tests
	$(BIN)/python -m benchmarks.figures $(PARTS)

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Strategy Lab needs Python 3.11, 3.12 or 3.13 with venv; this machine has $$(python3 --version 2>&1). Install one, or set PYTHON=/path/to/python3."; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runs: $(VENV)/bin/python pyproject.toml $(LOCKS)/all.lock
	$(BIN)/$(LOCKED) -r $(LOCKS)/all.lock
	$(BIN)/$(INSTALL) $(OWN)
	@touch $@

$(VENV)/.tests: $(VENV)/.runs $(LOCKS)/test.lock
	$(BIN)/$(LOCKED) -r $(LOCKS)/test.lock
	@touch $@

# The lock files name no index.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url
LOCK := $(COMPILE) --group build --extra all pyproject.toml
lock: $(VENV)/.tests
	$(LOCK) --upgrade --output-file $(LOCKS)/all.lock
	$(LOCK) --extra test --constraint $(LOCKS)/all.lock --output-file $(LOCKS)/test.lock
	$(LOCK) --extra docs --constraint $(LOCKS)/test.lock --output-file $(LOCKS)/docs.lock
	$(LOCK) --extra cuda --constraint $(LOCKS)/all.lock --output-file $(LOCKS)/cuda.lock
	$(LOCK) --extra ray --constraint $(LOCKS)/test.lock --output-file $(LOCKS)/ray.lock
	$(LOCK) --extra tensorboard --constraint $(LOCKS)/test.lock --output-file $(LOCKS)/tensorboard.lock
	$(LOCK) --extra test --extra mlflow --group mlflow-server --output-file $(LOCKS)/mlflow.lock
	$(LOCK) --group jupyter --constraint $(LOCKS)/test.lock --output-file $(LOCKS)/jupyter.lock
	$(COMPILE) --group installer --constraint $(LOCKS)/test.lock --output-file $(LOCKS)/installer.lock

clean:
	rm -rf $(VENV) $(OLDEST) $(NIGHTLY) $(RAY) $(MLFLOW) $(BOARD) $(JUPYTER) site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
