#!/usr/bin/env bash
# quickstart-test.sh PAGE... - does what a stranger does who has each page and nothing else: in an empty HOME it clones this tree
# (what is committed) and carries out the page's section "Quick start", its commands as they stand and its Python as files, until a
# call was allowed and another one refused, from a shell, from Python and from asyncio. Nothing of a page is written here again.
#
# What it does not do: it fetches no Debian package (make does, for the suite), and it keeps the caches of Go, which are the machine's.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
# What an empty HOME would hide: the caches, and where modules come from.
GOMODCACHE=$(go env GOMODCACHE) GOCACHE=$(go env GOCACHE) GOPROXY=$(go env GOPROXY) GOSUMDB=$(go env GOSUMDB)
export GOMODCACHE GOCACHE GOPROXY GOSUMDB
unset "${!COXSWAIN_@}" "${!OTEL_@}" PYTHONPATH

passed=0 failed=0
for page in "$@"; do
	work=$(mktemp -d)
	if hack/quickstart.py "$tree" "$page" "$work"; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		echo "not ok quick start of $page" >&2
	fi
	rm -rf "$work"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
