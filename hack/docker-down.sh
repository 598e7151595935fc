#!/usr/bin/env bash
# docker-down.sh DIR - stops the engine that docker-up.sh started with this DIR, and no other one.
set -euo pipefail
trap '' INT TERM HUP
file=${1:?usage: docker-down.sh DIR}/dockerd.pid
[ -f "$file" ] || exit 0
pid=$(cat "$file")
kill "$pid" 2>/dev/null || exit 0
for _ in $(seq 60); do
	kill -0 "$pid" 2>/dev/null || exit 0
	sleep 0.5
done
echo "docker-down.sh: dockerd (pid $pid) does not end; killing it" >&2
kill -9 "$pid"
