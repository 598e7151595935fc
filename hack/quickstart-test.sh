#!/usr/bin/env bash
# quickstart-test.sh PAGE... - follows each page as a new user would: in an empty HOME it clones this tree (as committed), runs the
# commands of the page's section "Quick start" and its Python files, and checks that a call was allowed and another one refused, from
# a shell, from Python and from asyncio. It takes commands and files from the page, and has no copy of them.
#
# It installs no Debian package (make does), and uses the machine's caches of Go.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
# Settings that an empty HOME would hide: the caches, and the source of modules.
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
