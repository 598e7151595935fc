# Coxswain. `make` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZTIME ?= 1m
SEED ?= 1
TOPOLOGY ?= standalone
IMAGE ?= coxswain:$(VERSION)
PLATFORMS ?= linux/amd64 linux/arm64
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Without this tag gRPC includes its own pages for traces, and the binary is a quarter larger.
TAGS = grpcnotrace
LINT = $$(hack/tool.sh golangci-lint)

.PHONY: help demo build test test-topology test-without-race test-container test-langs node test-node test-status pictures test-image sbom test-chart test-tools e2e-api e2e-node chaos chaos-ci soak image lint fmt fuzz bench bench-once profile docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## show a limit, two clients that compete for a lock, and a client that crashes, on the embedded store
	bin/sidecar demo

build: ## build bin/sidecar
	@[ -x bin/sidecar ] || echo 'building bin/sidecar: the first build downloads modules and compiles each package named below, which takes minutes'
	go build -v -tags $(TAGS) -ldflags '-X main.version=$(VERSION)' -o bin/sidecar ./cmd/sidecar

test: ## run every Go test with the race detector, on a real Redis
	hack/need.sh redis-server=redis-server curl=curl prometheus=prometheus
	hack/gotest.sh -race -skip Topology ./...

test-topology: ## run the tests that need a Redis Cluster or Sentinel, as processes
	hack/need.sh redis-server=redis-server
	hack/gotest.sh -race -run Topology ./...

test-without-race: ## run the tests that the race detector skips or shortens: allocations of a call, memory, and long random runs
	hack/need.sh redis-server=redis-server
	cd client && ../hack/gotest.sh -count=1 -run '^TestCallsAllocateLittle$$' .
	hack/gotest.sh -count=1 -run '^(TestCallsOnTheDirectPathAllocateLittle|TestNoCancelsPassTheBound|TestClientsCannotTakeMoreMemoryThanTheContainerHas)$$' \
		./cmd/sidecar ./internal/clienttest ./internal/coord/ratelimit

test-container: ## run the tests that use Redis with Redis in a container
	hack/need.sh curl=curl prometheus=prometheus
	hack/test-container.sh

test-langs: ## call the sidecar from other languages
	hack/need.sh nvim=neovim '/usr/bin/python3 -c "import msgpack"=python3-msgpack' \
		'ruby -e "require %q(msgpack)"=ruby-msgpack' 'perl -MData::MessagePack -e1=libdata-messagepack-perl' \
		php=php-cli 'php -r "msgpack_pack(1);"=php-msgpack' \
		lua5.3=lua5.3 'lua5.3 -e "require [[MessagePack]]"=lua-messagepack' 'lua5.3 -e "require [[posix.poll]]"=lua-posix' jq=jq
	hack/langs/run.sh

python: ## build the wheel and the source distribution of the Python client in bin/python
	hack/need.sh '/usr/bin/python3 -c "import setuptools"=python3-setuptools' '/usr/bin/python3 -c "import wheel"=python3-wheel' \
		'/usr/bin/python3 -c "import msgpack"=python3-msgpack'
	hack/python.sh bin/python

test-python: build ## test the Python client on real sidecars, and check its types
	hack/need.sh redis-server=redis-server '/usr/bin/python3 -c "import pytest"=python3-pytest' '/usr/bin/mypy --version=mypy' \
		'/usr/bin/python3 -c "import msgpack"=python3-msgpack' '/usr/bin/python3 -c "import setuptools"=python3-setuptools' \
		'/usr/bin/python3 -c "import wheel"=python3-wheel' '/usr/bin/python3 -c "import scrapy"=python3-scrapy' \
		'/usr/bin/python3 -c "import aiohttp"=python3-aiohttp' '/usr/bin/python3 -c "import httpx"=python3-httpx'
	hack/test-python.sh

node: ## build the package of the Node client in bin/node
	hack/need.sh node=nodejs npm=npm
	hack/node.sh bin/node

test-node: build ## test the Node client on real sidecars
	hack/need.sh redis-server=redis-server node=nodejs npm=npm
	hack/test-node.sh

test-status: build ## test the status page of real sidecars in headless Chromium
	hack/need.sh redis-server=redis-server chromium=chromium
	cd internal/statustest && ../../hack/gotest.sh -count=1 .

pictures: BUSY ?= 3m
pictures: VERSION = 0.1.0
pictures: build ## make the pictures of the status page and of sidecar top for docs, of sidecars under load for BUSY (3m)
	hack/need.sh redis-server=redis-server chromium=chromium script=bsdutils
	cd internal/statustest && PICTURES='$(CURDIR)/docs' BUSY='$(BUSY)' go test -count=1 -timeout 0 -run TestPictures .

image: ## build the container image IMAGE (coxswain:VERSION) for PLATFORMS
	work=$$(mktemp -d) && trap 'hack/docker-down.sh "$$work"; rm -rf "$$work"' EXIT && \
		hack/docker-up.sh "$$work" && PLATFORMS='$(PLATFORMS)' hack/image.sh '$(IMAGE)' '$(VERSION)'

sbom: build ## list the modules in bin/sidecar in bin/sidecar.cdx.json (CycloneDX)
	hack/sbom.sh bin/sidecar '$(VERSION)' bin/sidecar.cdx.json

test-image: ## build the image twice and run it as a pod would
	hack/test-image.sh '$(IMAGE)' '$(VERSION)'

test-chart: ## lint the chart, compare the output of the real helm, test its alerts
	hack/need.sh promtool=prometheus
	helm=$$(hack/tool.sh helm) && $$helm lint --strict charts/sidecar && \
		COXSWAIN_HELM=$$helm hack/gotest.sh -count=1 ./internal/helmtest/...

e2e-api: ## install the chart on a real Kubernetes API server and create pods (builds it once: 10 minutes)
	hack/e2e.sh api

e2e-node: ## run crawler pods on a real Kubernetes node made of this machine, as root (builds it once: 15 minutes)
	hack/e2e.sh node

soak: DURATION ?= 5m
soak: ## stop Redis for DURATION (5m) under load and check goroutines and memory; send a million messages of Pub/Sub
	hack/need.sh redis-server=redis-server
	go test ./cmd/sidecar -run RedisGoesAwayUnderLoad -count=1 -v -timeout 0 -outage '$(DURATION)'
	COXSWAIN_PUBSUB_MESSAGES=1000000 go test ./internal/clienttest -run EveryMessageIsReceived -count=1 -v -timeout 0

chaos: DURATION ?= 20s
chaos: MESSAGES ?= 10000
chaos: ## inject faults under 3 sidecars, for DURATION (20s) and for MESSAGES (10000), by SEED (1) on TOPOLOGY (standalone)
	hack/need.sh redis-server=redis-server
	CHAOS_SEED=$(SEED) CHAOS_DURATION=$(DURATION) CHAOS_MESSAGES=$(MESSAGES) CHAOS_TOPOLOGY=$(TOPOLOGY) \
		go test -race -count=1 -timeout 0 -v -run '^TestChaos' ./internal/chaostest

chaos-ci: ## run one seed of chaos on every topology
	hack/need.sh redis-server=redis-server
	CHAOS_SEED=1 CHAOS_DURATION=20s CHAOS_MESSAGES=3000 CHAOS_TOPOLOGY=all \
		hack/gotest.sh -race -count=1 -run '^TestChaos' ./internal/chaostest

lint: ## check style and correctness of Go and shell
	hack/need.sh shellcheck=shellcheck
	shellcheck .ci/run hack/*.sh $(wildcard hack/*/*.sh examples/*/*.sh)
	hack/tidy.sh
	$(LINT) run ./...
	lint=$(LINT) && for module in client bench internal/statustest; do (cd $$module && $$lint run ./...); done
	$(LINT) run --enable-only funlen --issues-exit-code 0 ./... # lists long functions, without failing
	@echo "5 passed, 0 failed"

fmt: ## format the Go files
	$(LINT) fmt ./...
	lint=$(LINT) && for module in client bench internal/statustest; do (cd $$module && $$lint fmt ./...); done

test-tools: ## build every pinned tool with an empty cache folder, as on a fresh machine
	hack/test-tools.sh

fuzz: ## fuzz each target for FUZZTIME (1m)
	hack/fuzz.sh $(FUZZTIME)

bench: ROUNDS ?= 5
bench: SECONDS ?= 3
bench: build ## measure the figures ONLY (such as P4,P7; all, which writes docs/benchmarks.md), also of the commit BASE, in ROUNDS (5) of SECONDS (3) per load
	hack/need.sh redis-server=redis-server redis-benchmark=redis-tools \
		'/usr/bin/python3 -c "import msgpack"=python3-msgpack' '/usr/bin/python3 -c "import redis"=python3-redis'
	cd bench && go run . -sidecar ../bin/sidecar -only '$(ONLY)' -base '$(BASE)' -image '$(IMAGE)' \
		-rounds '$(ROUNDS)' -duration '$(SECONDS)s' -o ../docs

profile: LOAD ?= raw acquire 64
profile: SECONDS ?= 10
profile: build ## write CPU profiles under LOAD (raw acquire 64; a name of docs/benchmarks.md) for SECONDS (10), in bin/profile
	hack/need.sh redis-server=redis-server redis-benchmark=redis-tools
	cd bench && go run . -sidecar ../bin/sidecar -profile '$(LOAD)' -duration '$(SECONDS)s' -profiles ../bin/profile

bench-once: build ## run every benchmark once, to check that it still runs; its figures mean nothing
	hack/need.sh redis-server=redis-server redis-benchmark=redis-tools \
		'/usr/bin/python3 -c "import msgpack"=python3-msgpack' '/usr/bin/python3 -c "import redis"=python3-redis'
	hack/benchonce.sh

docs: ## generate docs/protocol.md, docs/cli.md, the pictures, the clients' methods, and the chart's schema and README
	go run ./hack/protocoldoc
	go run ./hack/clientgen
	go run ./hack/chartdoc
	go test ./cmd/sidecar -run 'Reference|Plots' -update
	go test ./hack/pictures -run Sequences -update
	COXSWAIN_HELM=$$(hack/tool.sh helm) go test ./internal/helmtest -count=1 -run 'Golden|NamedTemplates|Manifests' -update

clean: ## remove what was built
	rm -rf bin clients/node/build clients/node/dist clients/node/node_modules
