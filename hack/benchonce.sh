#!/usr/bin/env bash
# benchonce.sh - runs every benchmark of the module once, so that none rots.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
go test -run '^$' -bench . -benchtime 1x ./... | tee "$log"
count=$(grep -c '^Benchmark' "$log" || true)
if [ "$count" = 0 ]; then
	echo "benchonce.sh: no benchmark found" >&2
	exit 1
fi
echo "$count passed, 0 failed"
