# make demo   the lab on this machine, shown
# make test   lint, types and every test within its budget
# Needs Python 3.11+, git and make; everything else is fetched, built and cached.

PYTHON ?= python3
BIN := .venv/bin
# With the user's own settings, which may name a mirror; never with those of a directory around this one.
UV_SETTINGS := $(firstword $(wildcard $(or $(XDG_CONFIG_HOME),$(HOME)/.config)/uv/uv.toml /etc/uv/uv.toml))
UV := .venv-uv/bin/uv $(if $(UV_SETTINGS),--config-file $(UV_SETTINGS),--no-config)
# Whoever wants no bytecode beside sources would compile all tests, and every program that they start, again each time.
export PYTHONDONTWRITEBYTECODE :=
# Tests with labs wait for a third of their time: three workers keep two cores busy.
WORKERS := 3
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all bench diagnostics coverage flux-fields doctor-table recover-table lint advisories outdated lock tools-test clean

help: ## What can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/ready ## The private Python environment

.venv-uv/ready: requirements/uv.txt
	@$(PYTHON) -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "firstlight needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "setup: uv into .venv-uv (some seconds, once)"
	@$(PYTHON) -I -m venv .venv-uv \
	  || { echo "python3 has no venv module; on Debian and Ubuntu: apt install python3-venv"; rm -rf .venv-uv; exit 1; }
	@.venv-uv/bin/python -I -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

.venv/ready: .venv-uv/ready requirements/dev.txt pyproject.toml
	@echo "setup: Python packages into .venv (under a minute, once)"
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	@$(UV) pip sync --quiet --python .venv --require-hashes requirements/dev.txt
	@$(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
	@touch $@

demo: .venv/ready ## The main job on the embedded lab
	@$(BIN)/firstlight demo

advisories: .venv/ready ## Every pin against the known vulnerabilities in advisories.toml
	@$(BIN)/python -m tests.advisories

outdated: .venv/ready ## What is newer than the pins, and whether it can be had; asks the module proxy and the package index
	@$(BIN)/python -m tests.outdated

lint: .venv/ready ## Format, lint, types, import layers, known vulnerabilities
	@$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo >.venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
	@$(BIN)/python -m tests.advisories >.venv/advisories.log || { cat .venv/advisories.log; exit 1; }

tools-test: .venv/ready ## What the tests need built, in the order in which they need it
	@$(BIN)/firstlight tools install --for tests

test: .venv/ready lint tools-test ## Lint, types and the tests, each kind within its budget
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile

test-all: .venv/ready lint tools-test ## Everything, samples in full
	@$(BIN)/pytest -q -n $(WORKERS) --dist loadfile --everything

bench: .venv/ready ## Speed, as ratios against peers in one run
	@$(BIN)/firstlight tools install --for bench
	@$(BIN)/python -m bench

diagnostics: .venv/ready ## docs/diagnostics.md: every code, from its card
	@$(BIN)/python -m tests.codes

coverage: .venv/ready ## docs/coverage.md: every section of the source documents, and what does it
	@$(BIN)/python -m tests.document_coverage

flux-fields: .venv/ready ## Fields of Flux's objects, from the CRDs in the Go modules of its controllers
	@$(BIN)/python -m tests.flux_fields

doctor-table: .venv/ready tools-test ## docs/doctor-failures.md: every failure made, and what the doctor says of it
	@$(BIN)/python -m tests.doctor.table

recover-table: .venv/ready tools-test ## docs/recover-drills.md: every failure made and repaired, and how long it took
	@$(BIN)/python -m tests.recover.table

lock: .venv-uv/ready ## Renew requirements/*.txt: hashes, no index addresses
	@$(UV) pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-header --universal \
	  --python-version 3.11 requirements/uv.in -o requirements/uv.txt
	@$(UV) pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-header --universal \
	  --python-version 3.11 --group dev pyproject.toml -o requirements/dev.txt
	@$(UV) pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-header --universal \
	  --python-version 3.11 --group build --constraints requirements/dev.txt pyproject.toml -o requirements/run.txt

clean: ## The environments; tools and Go caches stay in the user's cache
	rm -rf .venv .venv-uv build dist .mypy_cache .ruff_cache .import_linter_cache
