# One room for the commands of this checkout. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
PROTOS := $(sort $(wildcard protos/citemesh/v1/*.proto))
SERVICE_PROTOS := $(shell grep -l '^service ' $(PROTOS))
# What the breaking check compares with: main where it exists, else the commit checked out.
BREAKING_AGAINST := $(shell git rev-parse --quiet --verify main >/dev/null 2>&1 && echo branch=main || echo ref=HEAD)
# What they hold goes to the demo as it is, past the shell.
export FILES ?=
export ASK ?=
PYTEST_ARGS ?=
ROUNDS ?= 10
BENCH ?=
EVAL ?=
# onnxruntime sends usage data unless it is told not to.
export ORT_DISABLE_TELEMETRY := 1

.PHONY: help setup models demo test fuzz check lint types contracts manifests bench eval generate format lock clean

help: ## List the commands
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: .venv/.stamp ## Make .venv with the citemesh command

.venv/.stamp: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "citemesh needs Python 3.11 or newer; say which with PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the pinned packages into .venv (a minute or two the first time)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

models: setup ## Fetch and build the models, checked by sha256
	@$(BIN)/python -m citemesh.models.pull

demo: models ## Ask the bundled documents; your own: make demo FILES="a.pdf b.docx" ASK="..."
	@$(BIN)/python -m demo

test: models ## Run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

fuzz: models ## The property tests over new random examples (ROUNDS=10)
	@for round in $$(seq $(ROUNDS)); do \
		CITEMESH_TEST_EXAMPLES=searching $(BIN)/python -m pytest -q $$(grep -rl 'from hypothesis' tests --include='test_*.py') || exit 1; \
	done

check: lint types contracts manifests test ## All that CI checks

lint: setup ## Style, and which package may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup ## mypy --strict
	$(BIN)/mypy libs/citemesh services demo tests

contracts: setup ## Protos: lint, breaking changes, generated code and pages up to date
	$(BIN)/buf lint protos
	$(BIN)/buf breaking protos --against '.git#$(BREAKING_AGAINST),subdir=protos'
	@rm -rf build/generated && mkdir -p build/generated
	@$(MAKE) --no-print-directory generate GENERATED=build/generated
	@diff --recursive --brief --exclude=__init__.py --exclude=__pycache__ build/generated/citemesh/v1 libs/citemesh/v1 \
		|| { echo "libs/citemesh/v1 differs from the protos: run 'make generate'"; exit 1; }
	$(BIN)/python docs/contract_reference.py --check
	$(BIN)/python docs/settings_reference.py --check

manifests: setup ## Render and check k8s/ offline
	$(BIN)/python -m pytest tests/k8s -q

bench: models ## Times as ratios, for docs/measurements.md
	$(BIN)/python -m tests.bench $(BENCH)

eval: models ## Quality on the data beside the checkout, for docs/measurements.md; one part: EVAL=answers
	$(BIN)/python -m tests.quality $(EVAL)

GENERATED ?= libs
generate: setup ## Generate libs/citemesh/v1, docs/contract.md and docs/settings.md
	@PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python -m grpc_tools.protoc --proto_path=protos \
		--python_out=$(GENERATED) --mypy_out=quiet,readable_stubs:$(GENERATED) $(PROTOS)
	@PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python -m grpc_tools.protoc --proto_path=protos \
		--grpc_python_out=$(GENERATED) --mypy_grpc_out=quiet,readable_stubs:$(GENERATED) $(SERVICE_PROTOS)
	@test $(GENERATED) != libs || $(BIN)/python docs/contract_reference.py
	@test $(GENERATED) != libs || $(BIN)/python docs/settings_reference.py

format: setup ## Apply the style
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lock: ## Resolve requirements.lock anew (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra server --extra ocr --extra ray --group dev --output-file requirements.lock

clean: ## Remove what was built; state and models stay
	rm -rf .venv build .mypy_cache .pytest_cache .ruff_cache .hypothesis
