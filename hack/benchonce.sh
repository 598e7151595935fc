#!/usr/bin/env bash
# benchonce.sh - runs every benchmark of the project and of client/, the tests of bench/ and each of its loads once, for a short time,
# to check that they still run; and the tests of the number of allocations, which the race detector of the other suites would change.
# It needs bin/sidecar. A figure that cannot be measured here prints the reason and is not counted.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for module in . client; do
	(cd $module && go test -timeout 40m -v -run 'AllocateLittle$' -bench . -benchtime 1x ./...)
done | tee "$log"
pinned=$(grep -c '^--- PASS: .*AllocateLittle' "$log" || true)
benchmarks=$(grep -c '^Benchmark.* ns/op' "$log" || true)
(cd bench && go test -timeout 40m ./... && go run . -sidecar ../bin/sidecar -rounds 1 -duration 100ms) | tee "$log"
figures=$(grep '^P[0-9]' "$log" | grep -vc 'not measured' || true)
if [ "$benchmarks" = 0 ] || [ "$figures" = 0 ] || [ "$pinned" = 0 ]; then
	echo "benchonce.sh: $benchmarks benchmarks, $figures figures and $pinned pinned allocations: one of them is missing" >&2
	exit 1
fi
echo "$((benchmarks + figures + pinned)) passed, 0 failed"
