#!/usr/bin/env bash
# test-container.sh - runs the tests that use Redis with Redis in a container instead of a process. If no Docker engine
# runs it starts one and stops it afterwards; if the image is missing it builds it.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'hack/docker-down.sh "$work"; rm -rf "$work"' EXIT

hack/docker-up.sh "$work"
docker image inspect redis:7-local >/dev/null 2>&1 || hack/redis-image.sh redis:7-local

# The packages whose tests get a server from redistest, and redistest itself.
mapfile -t packages < <(go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... |
	awk '/internal\/redistest/ { print $1 }')
COXSWAIN_TEST_REDIS='' COXSWAIN_TEST_REDIS_MODE=container hack/gotest.sh -race -skip Topology "${packages[@]}"
