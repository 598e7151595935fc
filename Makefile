# Coxswain. `make` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZTIME ?= 1m
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: help demo build test test-langs lint fmt fuzz bench docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## run a limit, a lock and a crashing client on the embedded store
	bin/sidecar demo

build: ## build bin/sidecar
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/sidecar ./cmd/sidecar

test: ## run every Go test with the race detector, on a real Redis
	hack/need.sh redis-server=redis-server
	hack/gotest.sh -race ./...

test-langs: build ## call the sidecar from other languages
	hack/need.sh nvim=neovim '/usr/bin/python3 -c "import msgpack"=python3-msgpack' \
		'ruby -e "require %q(msgpack)"=ruby-msgpack' 'perl -MData::MessagePack -e1=libdata-messagepack-perl'
	hack/langs/run.sh

lint: ## check style and correctness of Go and shell
	hack/need.sh shellcheck=shellcheck
	shellcheck .ci/run $$(git ls-files '*.sh')
	$$(hack/tool.sh golangci-lint) run ./...
	cd bench && $$(../hack/tool.sh golangci-lint) run ./...

fmt: ## format the Go files
	$$(hack/tool.sh golangci-lint) fmt ./...
	cd bench && $$(../hack/tool.sh golangci-lint) fmt ./...

fuzz: ## fuzz each target for FUZZTIME (1m)
	hack/fuzz.sh $(FUZZTIME)

bench: build ## measure against Redis itself and other limiters; writes docs/benchmarks.md
	hack/need.sh redis-server=redis-server redis-benchmark=redis-tools
	cd bench && go run . -sidecar ../bin/sidecar -o ../docs/benchmarks.md

docs: ## generate docs/protocol.md
	go generate ./...

clean: ## remove what was built
	rm -rf bin
