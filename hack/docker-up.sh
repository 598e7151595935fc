#!/usr/bin/env bash
# docker-up.sh DIR - makes a Docker engine available: uses a running one, otherwise installs Debian's and starts it.
# For an engine that it starts it writes DIR/dockerd.pid and DIR/dockerd.log; stop it with docker-down.sh DIR.
# That engine publishes ports on 127.0.0.1 only.
set -euo pipefail
cd "$(dirname "$0")"
dir=${1:?usage: docker-up.sh DIR}

answers() { docker version >/dev/null 2>&1; }

if answers; then
	echo "docker: using the running engine $(docker version -f '{{.Server.Version}}')"
	exit 0
fi
./need.sh docker=docker.io dockerd=docker.io iptables=iptables
if [ "$(id -u)" != 0 ]; then
	echo "docker-up.sh: no Docker engine answers, and only root can start one: start it, then run this again" >&2
	exit 1
fi
mkdir -p "$dir"
# In a session of its own, so that an interrupt in the terminal ends only the tests; docker-down.sh then stops the engine.
setsid dockerd --ip 127.0.0.1 --pidfile "$dir/dockerd.pid" >"$dir/dockerd.log" 2>&1 </dev/null &
pid=$!
for _ in $(seq 240); do
	if answers; then
		echo "docker: started engine $(docker version -f '{{.Server.Version}}')"
		exit 0
	fi
	kill -0 "$pid" 2>/dev/null || break
	sleep 0.5
done
echo "docker-up.sh: dockerd does not answer; the end of its log:" >&2
tail -n 20 "$dir/dockerd.log" >&2
kill "$pid" 2>/dev/null || true
exit 1
