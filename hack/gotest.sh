#!/usr/bin/env bash
# gotest.sh ARG... - runs go test with these arguments through gotestsum, in client/ too if ./... is among them, prints
# which Redis the tests used, and ends with `N passed, N failed`, as gotestsum counts. It fails if no test ran.
# A package may take 40 minutes (or the -timeout among the arguments), since tests are slow on a busy machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
gotestsum=$("$here/tool.sh" gotestsum)
log=$(mktemp)
# A test binary that is ended by its timeout leaves its container running; the label identifies those of this run.
COXSWAIN_TEST_RUN=$(basename "$log")
export COXSWAIN_TEST_RUN
# shellcheck disable=SC2317 # the trap calls it
cleanup() {
	rm -f "$log" "$log.out"
	if command -v docker >/dev/null; then
		docker ps -aq --filter "label=coxswain.test-run=$COXSWAIN_TEST_RUN" 2>/dev/null | xargs -r docker rm -f >/dev/null || true
	fi
}
trap cleanup EXIT

# If this runs in a container, testcontainers would look for published ports at the default gateway; a local engine has them
# on loopback. The image of its reaper needs a registry, so the reaper is off: redistest stops the containers that it starts.
export TESTCONTAINERS_HOST_OVERRIDE=${TESTCONTAINERS_HOST_OVERRIDE:-127.0.0.1}
export TESTCONTAINERS_RYUK_DISABLED=${TESTCONTAINERS_RYUK_DISABLED:-true}

modules=(.)
for arg in "$@"; do
	[ "$arg" != ./... ] || modules=(. client) # ./... ends where another module begins
done
rc=0
# shellcheck disable=SC2016 # the arguments are the inner shell's
"$gotestsum" --format pkgname --hide-summary=skipped --jsonfile "$log" --raw-command -- bash -c '
	rc=0
	for module in $1; do (cd "$module" && go test -json -timeout 40m "${@:2}") || rc=$?; done
	exit $rc' go-test "${modules[*]}" "$@" 2>&1 | tee "$log.out" || rc=$?

# One line per kind of server, without its address.
redis=$(sed -n 's/.*redistest: using \(.*\) at [^ ]*\\n.*/redis: \1/p' "$log" | sort -u)
[ -z "$redis" ] || echo "$redis"
if [ -z "$redis" ] && [ -n "${COXSWAIN_TEST_REDIS_MODE:-}" ]; then
	echo "gotest.sh: no test used Redis, but COXSWAIN_TEST_REDIS_MODE=$COXSWAIN_TEST_REDIS_MODE requires it" >&2
	rc=1
fi
# "DONE 12 tests, 1 skipped, 2 failures, 1 error in 3.2s": gotestsum counts a test that was running when its binary was
# ended as a failure, and the log has no line for it.
number() { sed -nE "s/^DONE(.*[^0-9])([0-9]+) $1.*/\2/p" <<<"$(grep '^DONE ' "$log.out" | tail -n 1)"; }
all=$(number test) skipped=$(number skipped) failed=$(number failure) errors=$(number error)
passed=$((${all:-0} - ${skipped:-0} - ${failed:-0})) failed=$((${failed:-0} + ${errors:-0}))
if [ $passed -lt 0 ]; then passed=0; fi # a package that does not build is a failure without a test
if [ $rc != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
if [ "$passed" = 0 ] && [ $rc = 0 ]; then
	echo "gotest.sh: no test ran: go test $*" >&2
	rc=1 failed=1
fi
echo "$passed passed, $failed failed"
exit $rc
