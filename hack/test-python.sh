#!/usr/bin/env bash
# test-python.sh - checks the types of the Python client, builds it, and runs its tests against bin/sidecar.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1 COXSWAIN_SIDECAR=$PWD/bin/sidecar
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0 failed=0
# step NAME COMMAND... makes one check and counts it.
step() {
	local name=$1
	shift
	if "$@"; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		echo "not ok $name" >&2
	fi
}

types() { (cd clients/python && /usr/bin/mypy --cache-dir "$work/mypy"); }
step types types
step build hack/python.sh "$work/dist"
step "quick start" hack/quickstart-test.sh README.md

# The counts of pytest. A skipped test counts as failed.
rc=0
(cd clients/python && timeout -k 30 "${PYTEST_TIMEOUT:-1800}" /usr/bin/python3 -m pytest -p no:cacheprovider -q --tb=short) 2>&1 | tee "$work/log" || rc=$?
last=$(grep -E '^([0-9]+ [a-z]+(, )?)+ in [0-9.]+s' "$work/log" | tail -n 1)
count() { grep -oE "[0-9]+ $1" <<<"$last" | grep -oE '[0-9]+' || echo 0; }
passed=$((passed + $(count passed)))
bad=$(($(count failed) + $(count errors?) + $(count skipped) + $(count xfailed)))
if [ "$rc" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
failed=$((failed + bad))
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
