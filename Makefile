# A clone needs Debian, Python 3.11 or newer and make. Every target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.run-installed
DEV_STAMP := $(VENV)/.dev-installed
SITE_STAMP := $(VENV)/.site-installed
# Without compiled files each of hundreds of processes would compile Tenax anew.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 3 --dist worksteal --durations=$(or $(DURATIONS),10)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help install dev dist demo up test test-full chaos siege check format docs site screenshots bench fuzz differential vendor lock clean browser prometheus

help: ## the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 13

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tenax needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing Debian's python3-venv ..."; apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && $(PYTHON) -m venv $(VENV); \
	  else $(PYTHON) -m virtualenv --quiet $(VENV) 2>/dev/null; fi; } || { rm -rf $(VENV); \
	  echo "python3 can make no virtual environment; on Debian: apt-get install python3-venv"; exit 2; }

$(RUN_STAMP): requirements/build.txt requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "installing tenax into $(VENV) ..."
	@$(PIP) --require-hashes -r requirements/build.txt
	@$(PIP) --require-hashes -r requirements/run.txt
	@$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

$(DEV_STAMP): requirements/dev.txt $(RUN_STAMP)
	@echo "installing the tools for development ..."
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

$(SITE_STAMP): requirements/site.txt $(DEV_STAMP)
	@echo "installing the tools for the site ..."
	@$(PIP) --require-hashes -r requirements/site.txt
	@touch $@

install: $(RUN_STAMP) ## makes .venv/bin/tenax

dev: $(DEV_STAMP) ## sets up the tools, and the git hook that checks what is committed
	@git config core.hooksPath .githooks
	@echo "git commit checks the files that it commits from now on (.githooks/pre-commit)"

dist: $(RUN_STAMP) ## writes a wheel and a source distribution to dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build --directory dist

demo: $(RUN_STAMP) ## a workflow that fails and recovers before your eyes; KEEP=1 keeps it running, with its page
	@$(BIN)/python -m tenax.demo $(if $(KEEP),--keep)

up: $(RUN_STAMP) ## server, workers and database, until Ctrl-C
	@$(BIN)/tenax up

test: $(DEV_STAMP) browser ## the tests on the embedded PostgreSQL, in minutes; ONLY=tests/engine runs a part
	@$(PYTEST) -m "not full" $(ONLY)

test-full: $(DEV_STAMP) $(SITE_STAMP) browser prometheus ## all tests on both kinds of PostgreSQL (as far as they are there), with more examples
	@$(PYTEST) --postgres=both --hypothesis-profile=full $(ONLY)

# Tests that need a program of Debian are skipped without it, and say so: $(call debian,PROGRAM,PACKAGE).
debian = command -v $(1) >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  echo "installing Debian's $(2) ..." && apt-get update -qq && \
	  apt-get install -y -qq --no-install-recommends $(2) >/dev/null; } || \
	  echo "there is no $(1), and its tests are skipped; on Debian: apt-get install $(2)"

browser:
	@$(call debian,chromium,chromium)

prometheus:
	@$(call debian,promtool,prometheus)

chaos: $(DEV_STAMP) ## kills servers, workers and PostgreSQL under load, a minute each, three runs; then tenax verify
	@TENAX_CHAOS_SECONDS=$${SECONDS_EACH:-60} TENAX_CHAOS_RUNS=$${RUNS:-3} $(BIN)/python -m pytest -s tests/e2e/test_chaos.py

siege: $(DEV_STAMP) ## attacks a server in every way, alone and all at once under load, for ten minutes; prints what each attack cost
	@TENAX_SIEGE_SECONDS=$${SECONDS_LONG:-600} $(BIN)/python -m pytest -s tests/e2e/test_siege.py

check: $(DEV_STAMP) ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: $(DEV_STAMP) ## puts the code into its form
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(DEV_STAMP) ## writes the generated tables of the docs anew
	@$(BIN)/python tests/docs/generate.py

site: $(SITE_STAMP) docs ## builds the docs as a site in build/site, which works offline
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --clean --config-file website/mkdocs.yml
	@echo "built build/site/index.html"

screenshots: $(DEV_STAMP) browser ## takes the pictures of the dashboard in the docs anew
	@$(BIN)/python tools/screenshots.py

bench: $(DEV_STAMP) ## measures against the raw limit of PostgreSQL and against peers, in the same run
	@$(BIN)/python -m benchmarks $(ONLY)

fuzz: $(DEV_STAMP) ## sends what nobody should send, EXAMPLES of each kind
	@TENAX_FUZZ_EXAMPLES=$(or $(EXAMPLES),3000) $(BIN)/python -m pytest -n 2 --dist loadfile tests/fuzz

differential: $(DEV_STAMP) ## compares this engine with that of COMMIT, by random scenarios
	@PYTHONPATH=tests $(BIN)/python tests/differential/against.py $(COMMIT) --examples $(or $(EXAMPLES),200)

vendor: $(DEV_STAMP) ## fetches the vendored files of the API page and the dashboard anew, and checks them
	@$(BIN)/python tools/vendor.py

lock: $(DEV_STAMP) ## compiles the requirements files anew
	@$(PIP) uv
	@for name in build run dev site; do \
	  UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    requirements/$$name.in --output-file requirements/$$name.txt || exit; done
	@for peer in pgqueuer:3.11 procrastinate:3.11 dbos:3.11 oban:3.12 celery:3.11; do \
	  UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version $${peer#*:} --generate-hashes \
	    benchmarks/peers/$${peer%:*}.in --output-file benchmarks/peers/$${peer%:*}.txt || exit; done

clean: ## removes the environment and the caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache benchmarks/.peers build dist
