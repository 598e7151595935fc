#!/bin/sh
# The first calls from a shell: sh coxswain.sh [SECONDS]; it needs sidecar on PATH, and jq (apt-get install jq).
# Each call has a connection of its own, so the lock is bound to its TTL and this script renews it. To run one command under a
# lock, use sidecar exec --lock NAME -- COMMAND.
set -eu

call() { sidecar call -o json "$@"; } # an error is printed on stderr as CODE: message, and ends the script

answer=$(call ratelimit.acquire '{"key":"example.com","algorithm":"token_bucket","limits":[{"limit":3,"period_ms":5000}]}')
if [ "$(echo "$answer" | jq .allowed)" != true ]; then
	echo "refused, again in $(echo "$answer" | jq .retry_after_ms) ms" >&2
	exit 1
fi
echo "allowed, $(echo "$answer" | jq .remaining) left"

lock=$(call lock.acquire '{"name":"nightly","bind":"ttl","ttl_ms":15000,"meta":"coxswain.sh"}')
if [ "$(echo "$lock" | jq .acquired)" != true ]; then
	echo "busy, held by $(echo "$lock" | jq -r .held_by.client)" >&2
	exit 1
fi
token=$(echo "$lock" | jq -r .token)
release() { call lock.release "{\"name\":\"nightly\",\"token\":\"$token\"}"; }
trap 'release >/dev/null; exit 1' INT TERM
echo "locked, fence $(echo "$lock" | jq -r .fence)" # the resource that the lock protects should refuse a lower one

left=${1:-3}
while [ "$left" -gt 0 ]; do
	sleep 1 # stands for a second of work
	left=$((left - 1))
	renewed=$(call lock.renew "{\"name\":\"nightly\",\"token\":\"$token\",\"ttl_ms\":15000}")
	if [ "$(echo "$renewed" | jq .renewed)" != true ]; then
		echo "lost: $(echo "$renewed" | jq -r .reason)" >&2
		exit 1
	fi
done
echo "released $(release | jq .released)"
