#!/usr/bin/env bash
# test-tools.sh - builds every tool of hack/tool.sh with an empty cache folder, as on a machine that never built one, since
# a folder of built tools would hide a go.sum with missing lines. Go's own build cache is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
GOCACHE=$(go env GOCACHE) XDG_CACHE_HOME=$(mktemp -d)
export GOCACHE XDG_CACHE_HOME
trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
passed=0 failed=0
mapfile -t tools < <(sed -nE 's/^([a-z-]+)\) module=.*/\1/p' hack/tool.sh)
for tool in "${tools[@]}"; do
	if binary=$(hack/tool.sh "$tool") && [ -x "$binary" ]; then
		passed=$((passed + 1))
	else
		echo "test-tools.sh: $tool does not build" >&2
		failed=$((failed + 1))
	fi
done
if [ $passed = 0 ]; then
	echo "test-tools.sh: no tool was built" >&2
	failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
