# Orchard on one machine. Every target is a thin caller of `python -m orchard` or of a tool.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3.11
BIN := .venv/bin
RUN := $(BIN)/python -m orchard
export PYTHONPATH := $(CURDIR)
# Nothing runs where nothing was installed, so these targets install nothing.
INSTALLED := { [ -e .venv/.installed ] || { echo 'Nothing is installed here, so nothing runs'; exit 0; }; }
NOT_FETCHED = echo 'The Python packages could not be installed; the lines above say why.'; \
	echo 'They come from the package index: look at network, proxy and free disk, then run make again.'; exit 75;

.PHONY: help environment test-environment bench-environment demo up down status clean train test test-long cluster-test lint lock bench-lock images images-test helm

help: ## Show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

# The environment is made anew only when the lock has changed.
.venv/.uv: requirements-uv.lock
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
		echo 'Python 3.11 with its module venv was not found. Install it (Debian: sudo apt-get install python3.11-venv),'; \
		echo 'or name one: make PYTHON=/path/to/python3.11'; exit 64; }
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install -q --require-hashes -r requirements-uv.lock || { $(NOT_FETCHED) }
	touch $@

# What the servers import when they start is compiled ahead. The rest is large and seldom or partly
# used: it is compiled where it is imported first.
COMPILED_LATER = /(kubernetes|kubernetes_asyncio|scipy|sklearn|networkx|databricks|matplotlib|fontTools|libcst|pip|setuptools|onnx|tests?)/

.venv/.installed: .venv/.uv requirements.lock
	@echo 'Installing the Python packages, once'
	@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements.lock || { $(NOT_FETCHED) }
	@$(BIN)/python -m compileall -q -j 0 -x '$(COMPILED_LATER)' .venv/lib > .venv/compiled.log 2>&1 || true
	touch $@

.venv/.test-installed: .venv/.installed requirements-test.lock
	@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements-test.lock || { $(NOT_FETCHED) }
	touch $@

.bench-venv/.installed: .venv/.uv bench/requirements.lock
	$(BIN)/uv venv -q --clear --python $(PYTHON) .bench-venv
	$(BIN)/uv pip install -q --python .bench-venv/bin/python --require-hashes -r bench/requirements.lock
	touch $@

environment: .venv/.installed ## Make the Python environment from the lock

test-environment: .venv/.test-installed ## The same with the tools for tests

bench-environment: .bench-venv/.installed ## The environment of the peers that bench/ measures

demo: environment ## The main job: from sample pictures to an answering endpoint
	$(RUN) demo

up: environment ## Start the stack, or what of it is down
	$(RUN) up

down: ## Stop the stack; no process stays
	@$(INSTALLED) && $(RUN) down

status: ## Say what is up, what is down and why
	@$(INSTALLED) && $(RUN) status

clean: ## Stop the stack and remove all its state
	@$(INSTALLED) && $(RUN) clean

train: environment ## Build from your own data: make train DATA=folder-or-archive NAME=name [MINUTES=5] [TASK=task]
	@if [ -z "$(DATA)" ] || [ -z "$(NAME)" ]; then \
		echo 'Say which data and which name: make train DATA=folder-or-archive NAME=name [MINUTES=5] [TASK=task]'; exit 64; fi
	$(RUN) up
	$(RUN) train "$(DATA)" "$(NAME)" --minutes "$(or $(MINUTES),5)" $(if $(TASK),--task "$(TASK)")

# Workers take whole files, the longest first.
PYTEST = java=$$($(BIN)/python -m orchard.stack.java) && export JAVA_HOME=$$java && \
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q

test: test-environment ## Run the tests
	@$(PYTEST) -m 'not long and not cluster' $(or $(TESTS),tests)

test-long: test-environment ## Run those of whole builds: each task of the model system, and kills in mid-work
	@$(PYTEST) -m long $(or $(TESTS),tests)

cluster-test: test-environment ## Run those on the servers of a cluster, which they start: HDFS
	@$(PYTEST) -n 0 -m cluster $(or $(TESTS),tests)

lint: test-environment ## Style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: .venv/.uv ## Write the locks anew from the requirement files
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-header requirements.txt -o requirements.lock
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-header requirements-test.txt -c requirements.lock -o requirements-test.lock
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-header requirements-uv.txt -o requirements-uv.lock
	$(BIN)/python -m images.role_locks

bench-lock: .venv/.uv ## Write the lock of the peers' environment anew
	$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-header bench/requirements.txt -o bench/requirements.lock

# PREFIX, TAG, BASE, BUILD_ARGS and DEBIAN_MIRROR are described in images/build.sh.
export PREFIX TAG BASE BUILD_ARGS DEBIAN_MIRROR
IMAGE_ROLES = $(or $(ROLE),$(sort $(notdir $(patsubst %/,%,$(dir $(wildcard images/*/Dockerfile))))))

images: ## Build the container images, or one: make images [ROLE=trainer]
	@images/build.sh $(IMAGE_ROLES)

images-test: test-environment ## Start programs in the images that were built and look into them
	@$(PYTEST) -n 0 -m cluster tests/images

helm: ## Fetch Helm into the user's cache, for the tests of the chart
	@helm/fetch.sh
