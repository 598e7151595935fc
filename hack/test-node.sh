#!/usr/bin/env bash
# test-node.sh - builds the package of the Node client, and runs its tests against bin/sidecar.
set -euo pipefail
cd "$(dirname "$0")/.."
export COXSWAIN_SIDECAR=$PWD/bin/sidecar
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0 failed=0
if hack/node.sh "$work/package"; then passed=1; else
	failed=1
	echo "not ok package" >&2
fi

# A test that was skipped or cancelled counts as failed.
rc=0
(cd clients/node && npm test --silent) 2>&1 | tee "$work/log" || rc=$?
count() { sed -nE "s/^# $1 ([0-9]+)$/\1/p" "$work/log" | tail -n 1; }
bad=0
for kind in fail cancelled skipped todo; do bad=$((bad + $(count $kind || true) + 0)); done
if [ "$rc" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
ran=$(count pass)
[ "${ran:-0}" -gt 0 ] || bad=$((bad + 1))
echo "$((passed + ${ran:-0})) passed, $((failed + bad)) failed"
[ $((failed + bad)) = 0 ]
