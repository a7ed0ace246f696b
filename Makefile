# Two commands do everything on a clean machine: `make demo` and `make test`.
# Needed: Rust >= 1.90, Python >= 3.11, a C compiler, a JDK >= 17, and the package registries.
# What is missing is named with the way to get it.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
STEPS ?= 1000000
SEED ?= 0
SCHEDULES ?= 0

export TICKFRAME_VENV := $(abspath $(VENV))
export VIRTUAL_ENV := $(TICKFRAME_VENV)
# One interpreter for maturin and for cargo: another would rebuild pyo3.
export PYO3_PYTHON := $(TICKFRAME_VENV)/bin/python
export CARGO_TERM_QUIET ?= true
ifdef CARGO_TARGET_DIR
export CARGO_TARGET_DIR
endif

RUN := $(TICKFRAME_VENV)/bin/
STAGE := bash scripts/stage.sh
# Floors 0 to 5 and the oracle: what the inner loop compiles. `native` links only with Python's help.
FLOORS := -p tickframe-limits -p tickframe-simd -p tickframe-memory -p tickframe-log -p tickframe-messages -p tickframe-rowset -p tickframe-graph -p tickframe-column -p tickframe-formula -p tickframe-engine -p tickframe-barrage -p tickframe-flight -p tickframe-files -p tickframe-durable -p tickframe-model
PROFILE := --locked --profile ci
# What is compiled depends on the features of all that is asked for at once. Every stage asks for the same, so that each
# crate is compiled once for the tests of the floors, the other tests, the laws and the extension: docs/decisions/062.
FEATURES := --features tickframe-engine/testing,tickframe-flight/testing
TESTS := $(FLOORS) -p tickframe-tests --test tests
EXTENSION := --features extension-module,testing
# pip tells of every extra it was not asked for.
QUIETLY := 2>&1 | { grep -v -e '^Ignoring ' -e '^Looking in ' || true; }

.PHONY: help demo test check bench measure figures wheel lint venv clean \
	tidy lint-python lint-rust docs floors rust schedules canaries prove laws large turn deep develop release wheel-test test-python test-spark test-examples benches

help:
	@echo 'make demo    run the flights of 2013 through Spark and tickframe, and prove the result (ARGS="--days 14")'
	@echo 'make test    lints, Rust tests, wheel, Python and Spark tests, examples'
	@echo 'make check   the fast part: format, tidy, floors 0 to 3'
	@echo 'make large   every operation over ROWS=1000000 rows, against polars'
	@echo 'make prove   random steps against the model, STEPS=1000000 from SEED=0; SCHEDULES=100000 of the graph'
	@echo 'make laws    what every landing is put through: 100,000 steps, 500 composed graphs, from a seed of the commit'
	@echo 'make canaries   plant faults, one after the other, and see that the tests find them'
	@echo 'make turn    what takes turns (sanitizers, fuzz targets, the packages as shipped): this commit'"'"'s, or ARGS="memory"'
	@echo 'make deep    all that takes turns, and every canary: hours'
	@echo 'make bench   the benches in Rust, and the live tables beside other engines, without keeping their lines'
	@echo 'make measure every table of benches/RESULTS.md measured again: hours; ARGS="tpch files" for some'
	@echo 'make figures the tables of benches/RESULTS.md, of the lines in benches/figures'
	@echo 'make wheel   the wheel for Python 3.11 and newer, into dist/'
	@echo 'make docs    the documentation site, into out/site; its code is run by the Python tests'
	@echo 'make lint    ruff, mypy, rustfmt, clippy'
	@echo 'make venv    .venv with everything the above need'
	@echo 'make clean   what the above made, but no compiled crates outside target/'

## The main job

demo: venv
	@$(STAGE) 'build the extension' $(MAKE) --no-print-directory release
	$(RUN)python examples/flights $(ARGS)

## Tests, in the order of how soon bad news comes; then what searches, which a run of `.ci/run` begins in its first 50 minutes only
SPARE := 3000

test: venv
	@$(STAGE) 'format and tidy' $(MAKE) --no-print-directory tidy
	@$(STAGE) 'ruff and mypy' $(MAKE) --no-print-directory lint-python
	@$(STAGE) 'documentation site' $(MAKE) --no-print-directory docs
	@$(STAGE) 'clippy' $(MAKE) --no-print-directory lint-rust
	@$(STAGE) 'floors 0 to 3' $(MAKE) --no-print-directory floors
	@$(STAGE) 'Rust, the rest' $(MAKE) --no-print-directory rust
	@$(STAGE) 'wheel' $(MAKE) --no-print-directory wheel-test
	@$(STAGE) 'Python' $(MAKE) --no-print-directory test-python
	@$(STAGE) 'Spark' $(MAKE) --no-print-directory test-spark
	@$(STAGE) 'examples and doctests' $(MAKE) --no-print-directory test-examples
	@$(STAGE) --within $(SPARE) 'random steps' $(MAKE) --no-print-directory laws
	@$(STAGE) --within $(SPARE) 'schedules' $(MAKE) --no-print-directory schedules
	@$(STAGE) --within $(SPARE) 'a canary' $(MAKE) --no-print-directory canaries ARGS=--next
	@$(STAGE) --within $(SPARE) 'what takes turns' $(MAKE) --no-print-directory turn
	@bash scripts/stage.sh --summary

check: tidy floors

tidy:
	cargo fmt --all --check
	cargo test $(PROFILE) $(TESTS) tidy

lint: tidy lint-python lint-rust

lint-python: venv
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)mypy

lint-rust: venv
	cargo clippy $(PROFILE) --workspace --all-targets -- -D warnings

# Built without the extension and without a network; a link that leads nowhere is an error.
docs: venv
	@NO_MKDOCS_2_WARNING=1 $(RUN)mkdocs build --quiet
	@echo 'out/site/index.html'

# Few seeds of each law: `make laws` runs them all for longer.
floors rust: export TICKFRAME_SEEDS ?= 20
floors:
	cargo test $(PROFILE) $(FLOORS) $(FEATURES)

rust: venv
	cargo test $(PROFILE) $(TESTS)

# Model checkers stand in for locks and threads: every interleaving of the protocol, many of the whole graph.
schedules:
	cargo test $(PROFILE) -p tickframe-graph --features loom --lib loomed
	cargo test $(PROFILE) -p tickframe-graph --features shuttle --lib shuttled

# Faults that are planted and must be found: all, or ARGS.
canaries:
	@$(PYTHON) scripts/canaries.py $(ARGS)

# As many random steps as asked, against the model; the run is written down in tests/RUNS.md.
prove:
	@$(PYTHON) scripts/prove.py --steps $(STEPS) --seed $(SEED) --schedules $(SCHEDULES) --record

# What every landing is put through: steps that no other landing makes, by the number of its commit. LAWS_SEED replays those
# of a seed that was printed.
LAWS_SEED ?=
laws:
	@$(PYTHON) scripts/prove.py --steps 100000 --graphs 500 $(if $(LAWS_SEED),--seed $(LAWS_SEED))

# For scripts that build tests: what cargo is asked for.
.PHONY: floors-words tests-words extension-words
floors-words:
	@echo '$(PROFILE) $(FLOORS) $(FEATURES)'

tests-words:
	@echo '$(PROFILE) $(TESTS)'

extension-words:
	@echo '$(PROFILE) -p tickframe-native $(EXTENSION)'

develop: venv
	@$(RUN)maturin develop $(PROFILE) $(EXTENSION) --quiet $(QUIETLY)

release: venv
	@$(RUN)maturin develop --profile shipped --quiet $(QUIETLY)

wheel-test: venv
	bash scripts/wheel_test.sh

benches:
	cargo build $(PROFILE) -p tickframe-benches --benches

# Checks that need a build of their own or more than two minutes: one in each landing, by the number of the commit.
turn: venv
	@$(PYTHON) scripts/turns.py $(ARGS)

# All of them, and every canary.
deep: venv
	@$(PYTHON) scripts/turns.py --all
	@$(MAKE) --no-print-directory canaries

# Every operation over tables of so many rows, against polars.
ROWS ?= 1000000
large: develop
	TICKFRAME_LARGE_ROWS=$(ROWS) TICKFRAME_TEST_LIMIT=36000 $(RUN)pytest tests/python/test_large.py

test-python: develop
	$(RUN)pytest -m 'not spark and not example'

test-spark: develop
	$(RUN)pytest -m 'spark and not example'

test-examples: develop
	$(RUN)pytest -m example tests/python
	$(RUN)pytest --doctest-modules python/tickframe

## Figures and packages

bench: venv
	@$(STAGE) 'build the extension' $(MAKE) --no-print-directory release
	cargo bench -p tickframe-benches -- $(ARGS)
	@if [ -f benches/compare/run.py ]; then $(RUN)python benches/compare/run.py $(ARGS); fi

# What each table takes, by which command, and what it is skipped for: python benches/measure.py --list.
measure: venv
	@$(STAGE) 'build the extension' $(MAKE) --no-print-directory release
	$(RUN)python benches/measure.py $(ARGS)

# Only reads: `make measure` writes the lines.
figures:
	@$(PYTHON) benches/figures.py $(ARGS)

wheel: venv
	$(PYTHON) scripts/requirements.py ship | xargs -d '\n' $(RUN)pip install --quiet --disable-pip-version-check
	CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}/wheel" PATH="$(TICKFRAME_VENV)/bin:$$PATH" $(RUN)python scripts/wheel.py dist

venv:
	@PYTHON=$(PYTHON) bash scripts/environment.sh

clean:
	rm -rf $(VENV) dist target examples/flights/out python/tickframe/*.so .mypy_cache .ruff_cache .pytest_cache
