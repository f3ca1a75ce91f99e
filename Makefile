# Two commands do everything: `make demo` and `make test`. Each sets up .venv by itself, once.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint types format docs clean

demo: .venv/.demo
	$(BIN)/daleth demo

test: .venv/.dev
	$(BIN)/python -m pytest

test-slow: .venv/.dev
	$(BIN)/python -m pytest -m slow

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.dev
	$(BIN)/basedpyright --level error

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .pytest_cache .hypothesis .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/.demo: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[plots]"
	touch $@

.venv/.dev: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@ .venv/.demo

.venv/.docs: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@
