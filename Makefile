# Each target makes .venv and installs what it needs by itself; it needs Python 3.11 or newer, bash and make.
SHELL := bash
PYTHON ?= python3
BIN := .venv/bin
# $(call install,what,arguments of pip): pip shows its progress; its warnings are left out, its errors are not.
define install
	@echo "make: installing $(1) into .venv (once; takes a few minutes on a slow network)"
	@$(BIN)/python -m pip install --disable-pip-version-check $(2) 2> >(grep --invert-match '^WARNING' >&2)
endef

# A file that differs from the one that was locked is not installed.
LOCKED := --require-hashes --requirement

.PHONY: venv demo rehearse-demo test test-all studies validation check bench docs licences lock dist clean

venv: .venv/ready

# Requirements to run Granite.
.venv/ready: pyproject.toml requirements.lock requirements-build.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is older than 3.11; set PYTHON=python3.11"; exit 2; }
	@[ -e $@ ] || rm -rf .venv  # an installation that was interrupted
	@$(PYTHON) -m venv .venv
	$(call install,what Granite needs,$(LOCKED) requirements.lock --requirement requirements-build.lock)
	$(call install,Granite,--no-deps --no-build-isolation --editable .)
	@touch $@

# Requirements of tests and benchmarks as well: other engines and tools.
.venv/ready-dev: .venv/ready requirements-dev.lock
	$(call install,tools for tests and benchmarks,$(LOCKED) requirements-dev.lock)
	@touch $@

# Requirements of the documentation site.
.venv/ready-docs: .venv/ready requirements-docs.lock
	$(call install,tools for the documentation,$(LOCKED) requirements-docs.lock)
	@touch $@

demo: venv
	@mkdir -p runs
	$(BIN)/granite sim free-flyer/planned --out runs/demo.mcap --overwrite
	$(BIN)/granite replay runs/demo.mcap
	$(BIN)/granite plot runs/demo.mcap --out runs/demo.png --overwrite

# The free-flyer crosses the table through firmware and serial ports; needs a C compiler.
# Patient: a machine that does other things, too, delays bytes by more than a robot's own limits allow.
rehearse-demo: venv
	@mkdir -p runs
	$(BIN)/granite rehearse free-flyer --patient --out runs/rehearsal.mcap --overwrite
	$(BIN)/granite replay runs/rehearsal.mcap
	$(BIN)/granite plot runs/rehearsal.mcap --out runs/rehearsal.png --overwrite

# Both cores: the one that is done takes tests from the other.
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

test: .venv/ready-dev
	$(PYTEST)

# Their processes need the cores that tests which compute would take.
REAL_TIME := $(addprefix tests/,cli/test_tune_live.py console docs/test_tutorial.py firmware rt/fault_matrix rt/live \
	rt/operator rt/process rt/recording rt/rehearsal rt/ros2)

test-all: .venv/ready-dev
	@rc=0; $(PYTEST) -m 'not study' $(addprefix --ignore=,$(REAL_TIME)) || rc=1; \
	$(PYTEST) -m 'not study' $(REAL_TIME) || rc=1; exit $$rc

# Flights over a hundred seeds each, on which no gain was tuned; prints what they reach. An hour or more.
studies: .venv/ready-dev
	$(PYTEST) -m study -rP

# Runs every acceptance test and writes the table of its claims.
validation: .venv/ready-dev
	$(BIN)/python -m pytest tests/validation -m '' --validation-table docs/validation.csv

check: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready-dev
	$(BIN)/python -m benchmarks --json runs/bench.json

# A warning fails the build: a dead link, a page that the sidebar does not list, a docstring that can't be read.
docs: .venv/ready-docs
	$(BIN)/python -m sphinx --quiet --fresh-env --fail-on-warning --keep-going --conf-dir docs . build/docs
	@cp build/docs/README.html build/docs/index.html
	@echo "documentation: $(CURDIR)/build/docs/index.html"

# The table of licences, from the metadata of what is installed.
licences: .venv/ready-dev .venv/ready-docs
	$(BIN)/python docs/licences.py

# The exact versions of everything with the hashes of their files, for Python 3.11 and newer on any platform; needs uv.
COMPILE := uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate \
	--custom-compile-command 'make lock'
lock:
	$(COMPILE) pyproject.toml --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra dev --constraints requirements.lock --output-file requirements-dev.lock
	$(COMPILE) pyproject.toml --extra docs --constraints requirements-dev.lock --output-file requirements-docs.lock
	echo 'setuptools>=77' | $(COMPILE) - --output-file requirements-build.lock

# Source and wheel for an index, made from the source alone; the wheel flies the demo in an empty environment.
dist: venv
	@rm -rf dist build/empty && mkdir -p build
	@$(BIN)/python -c 'from setuptools import build_meta; build_meta.build_sdist("dist")' >build/dist.log
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist dist/*.tar.gz
	@$(PYTHON) -m venv build/empty
	@build/empty/bin/python -m pip install --quiet --disable-pip-version-check --constraint <(sed 's/ *\\$$//; /--hash/d' requirements.lock) dist/*.whl
	cd build && empty/bin/granite sim free-flyer --duration 5 --out demo.mcap --overwrite
	@ls -l dist

clean:
	rm -rf .venv runs dist build firmware/build *.egg-info
