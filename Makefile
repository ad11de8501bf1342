PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all bench compare clean

demo: $(VENV)/installed
	$(BIN)/impinge run bouncing-ball --out out/bouncing-ball
	@echo "The figure is out/bouncing-ball/figure.png"

test: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/impinge doctor --compile
	$(BIN)/pytest -n 2 -m "not slow"

test-all: $(VENV)/installed-test
	$(BIN)/pytest -n 2 --hypothesis-profile=explore

bench: $(VENV)/installed-bench
	$(BIN)/impinge bench

# make compare BEFORE=<git revision>: what has become slower since
compare: $(VENV)/installed
	$(BIN)/python tools/compare.py --revision $(or $(BEFORE),$(error say BEFORE=<git revision>))

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	@touch $@

clean:
	rm -rf $(VENV) out
