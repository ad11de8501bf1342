PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all test-wheel wheel start bench compare clean

demo: $(VENV)/installed
	$(BIN)/impinge run bouncing-ball --out out/bouncing-ball
	@echo "The figure is out/bouncing-ball/figure.png"

test: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/impinge doctor --compile
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow"

test-all: $(VENV)/installed-test
	$(BIN)/pytest -n 2 --dist loadgroup --hypothesis-profile=explore

# A wheel for this system and this version of Python, with loops compiled for levels of its processors.
wheel: $(VENV)/installed-wheel
	rm -rf dist
	IMPINGE_FREEZE=1 $(BIN)/python -m hatchling build -t wheel

# The wheel in a clean environment where numba cannot be imported: every study, to the last bit.
test-wheel: wheel
	$(BIN)/python tools/start.py wheel

# How long the first results take.
start: wheel
	$(BIN)/python tools/start.py

bench: $(VENV)/installed-bench
	$(BIN)/impinge bench

# make compare BEFORE=<git revision>: what has become slower since
compare: $(VENV)/installed
	$(BIN)/python tools/compare.py --revision $(or $(BEFORE),$(error say BEFORE=<git revision>))

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Python compiles what it imports by itself; to compile everything ahead takes ten seconds more.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable .
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	$(BIN)/python -m compileall -q -j 0 $(VENV)/lib || true
	@touch $@

$(VENV)/installed-wheel: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[wheel]"
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	@touch $@

clean:
	rm -rf $(VENV) out dist
