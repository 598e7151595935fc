#!/usr/bin/env bash
# gotest.sh ARG... - runs go test with these arguments through gotestsum, says which Redis the tests used, and
# closes with `N passed, N failed`. It fails when no test ran.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
gotestsum=$("$here/tool.sh" gotestsum)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# In a container itself, testcontainers would look for published ports at the default gateway; they are on loopback
# wherever the engine is local. Its reaper's image cannot be had without a registry: redistest ends what it starts.
export TESTCONTAINERS_HOST_OVERRIDE=${TESTCONTAINERS_HOST_OVERRIDE:-127.0.0.1}
export TESTCONTAINERS_RYUK_DISABLED=${TESTCONTAINERS_RYUK_DISABLED:-true}

rc=0
"$gotestsum" --format pkgname --hide-summary=skipped --jsonfile "$log" -- "$@" || rc=$?

# tests ACTION counts the tests, subtests included, that ended so.
tests() { grep -c "\"Action\":\"$1\",.*\"Test\":" "$log" || true; }

# One line per kind of server, without its address.
redis=$(sed -n 's/.*redistest: using \(.*\) at [^ ]*\\n.*/redis: \1/p' "$log" | sort -u)
[ -z "$redis" ] || echo "$redis"
if [ -z "$redis" ] && [ -n "${COXSWAIN_TEST_REDIS_MODE:-}" ]; then
	echo "gotest.sh: no test used Redis, but COXSWAIN_TEST_REDIS_MODE=$COXSWAIN_TEST_REDIS_MODE asks for it" >&2
	rc=1
fi
passed=$(tests pass) failed=$(tests fail)
# A package that does not build, or a binary that is ended, has no test that failed.
if [ $rc != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
if [ "$passed" = 0 ] && [ $rc = 0 ]; then
	echo "gotest.sh: no test ran: go test $*" >&2
	rc=1 failed=1
fi
echo "$passed passed, $failed failed"
exit $rc
