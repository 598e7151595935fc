#!/usr/bin/env bash
# test-container.sh - runs the tests that use Redis with Redis in a container instead of a process. It starts a Docker
# engine when none answers, ends the one it started, and builds the image when it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'hack/docker-down.sh "$work"; rm -rf "$work"' EXIT

hack/docker-up.sh "$work"
docker image inspect redis:7-local >/dev/null 2>&1 || hack/redis-image.sh redis:7-local

# The packages whose tests ask redistest for a server, and redistest itself.
mapfile -t packages < <(go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... |
	awk '/internal\/redistest/ { print $1 }')
COXSWAIN_TEST_REDIS='' COXSWAIN_TEST_REDIS_MODE=container hack/gotest.sh -race -skip Topology "${packages[@]}"
