# One room for the commands of this checkout. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
PROTOS := $(sort $(wildcard protos/citemesh/v1/*.proto))
# onnxruntime sends usage data unless it is told not to.
export ORT_DISABLE_TELEMETRY := 1

.PHONY: help setup models generate

help: ## List the commands
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: .venv/.stamp ## Make .venv with the citemesh command

.venv/.stamp: requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

generate: setup ## Generate libs/citemesh/v1 from the protos
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python -m grpc_tools.protoc --proto_path=protos \
		--python_out=libs --grpc_python_out=libs --mypy_out=readable_stubs:libs --mypy_grpc_out=readable_stubs:libs $(PROTOS)
