#!/usr/bin/env bash
# benchonce.sh - runs every benchmark of the project and of client/, the tests of bench/ and each of its figures once, so that none
# rots. It needs bin/sidecar.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for module in . client; do
	(cd $module && go test -timeout 40m -run '^$' -bench . -benchtime 1x ./...)
done | tee "$log"
benchmarks=$(grep -c '^Benchmark' "$log" || true)
(cd bench && go test -timeout 40m ./... && go run . -sidecar ../bin/sidecar -rounds 1 -duration 200ms) | tee "$log"
figures=$(grep -c '^P[0-9]' "$log" || true)
if [ "$benchmarks" = 0 ] || [ "$figures" = 0 ]; then
	echo "benchonce.sh: $benchmarks benchmarks and $figures figures: one of them is missing" >&2
	exit 1
fi
echo "$((benchmarks + figures)) passed, 0 failed"
