# Each target sets up what it needs: a virtual environment with the pinned dependencies, then the package.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
READY := $(VENV)/.ready

.PHONY: demo test test-all lint types layers check bench peers docs clean pin

$(READY): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "vennmf needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: $(READY)  ## a real story in a minute
	@$(BIN)/vennmf demo

test: $(READY)  ## the suite, without what is slow, and the code of every page
	$(BIN)/python -m pytest -n auto
	$(BIN)/python -m pytest docs README.md

test-all: $(READY)  ## the suite, with what is slow
	$(BIN)/python -m pytest -n auto -m ''

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

check: lint types layers

bench: $(READY)  ## every benchmark, quickly; the tables of docs/benchmarks.md with BENCH=--full
	$(BIN)/python benchmarks/run.py $(BENCH)

peers: $(READY)  ## an environment with the packages that benchmarks/peers compares with; what cannot be had is left out
	$(PYTHON) -m venv $(PEERS)
	sed '/^#/d' benchmarks/peers/requirements.txt | while read -r package; do \
		$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check "$$package" || echo "left out: $$package"; done

docs: $(READY)  ## run the code of every page
	$(BIN)/python -m pytest docs README.md

pin: $(READY)  ## write requirements/dev.txt anew from pyproject.toml
	$(BIN)/python -m pip install --quiet --upgrade -e '.[dev]'
	$(BIN)/python -m pip freeze --exclude-editable > requirements/dev.txt

clean:
	rm -rf $(VENV) $(PEERS) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache dist build
