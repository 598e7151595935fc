#!/usr/bin/env bash
# test-image.sh TAG VERSION - builds the image and shows that it runs as it is meant to in a pod: as 65532 with a
# read-only root, called over the shared socket by a foreign uid of its group, and by nobody outside it. Closes with
# `N passed, N failed`. It starts a Docker engine when none answers, and ends the one it started.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:?usage: test-image.sh TAG VERSION} version=${2:?usage: test-image.sh TAG VERSION}
work=$(mktemp -d) id=coxswain-test-$$ passed=0 failed=0
cleanup() {
	docker rm -f "$id" >/dev/null 2>&1 || true
	docker volume rm "$id" >/dev/null 2>&1 || true
	docker rmi "$tag-again" >/dev/null 2>&1 || true
	hack/docker-down.sh "$work"
	rm -rf "$work"
}
trap cleanup EXIT

# check WHAT COMMAND... counts whether the command succeeds; its output is shown when it does not.
check() {
	local what=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		echo "ok    $what" && passed=$((passed + 1))
	else
		echo "FAIL  $what" && failed=$((failed + 1)) && sed 's/^/      /' "$work/out"
	fi
}
refused() { ! "$@"; }
# says TEXT COMMAND... succeeds when the command fails and says so.
says() {
	local text=$1 out
	shift
	if out=$("$@" 2>&1); then return 1; fi
	echo "$out" && grep -qF "$text" <<<"$out"
}
# client ARG... is a pod's other container: of another uid, with the sidecar's volume.
client() { docker run --rm --network none --read-only --cap-drop ALL --user 12345:12345 -v "$id:/run/coxswain" "$@"; }
# same A B compares what two images are made of; only the time of their making may differ.
same() {
	local f='{{json .RootFS.Layers}} {{json .Config.Entrypoint}} {{json .Config.Cmd}} {{json .Config.Env}} {{.Config.User}}'
	[ "$(docker image inspect -f "$f" "$1")" = "$(docker image inspect -f "$f" "$2")" ]
}
at_most() { echo "$1 of $2 bytes" && [ "$1" -le "$2" ]; }

hack/docker-up.sh "$work"
hack/image.sh "$tag" "$version"
# As Kubernetes mounts an emptyDir in memory: root's, mode 1777.
docker volume create -d local -o type=tmpfs -o device=tmpfs -o o=mode=1777,size=16m "$id" >/dev/null
docker run -d --name "$id" --read-only --cap-drop ALL --security-opt no-new-privileges -v "$id:/run/coxswain" \
	"$tag" serve --redis embedded >/dev/null

check "it gets ready" docker exec "$id" /sidecar wait --timeout 30s
check "it runs as 65532:65532" test "$(docker image inspect -f '{{.Config.User}}' "$tag")" = 65532:65532
check "its root is read-only" test "$(docker inspect -f '{{.HostConfig.ReadonlyRootfs}}' "$id")" = true
check "it has no shell" says "executable file not found" docker run --rm --entrypoint sh "$tag"
check "a foreign uid in its group acquires a lock" client --group-add 65532 "$tag" call lock.acquire '{"name":"l","bind":"ttl"}'
check "one outside the group is refused by the socket's mode" says "permission denied" client "$tag" call session.ping
check "a preStop hook drains it" docker exec "$id" /sidecar drain --grace 1s
check "SIGTERM ends it" docker stop -t 30 "$id"
check "with exit code 0" test "$(docker inspect -f '{{.State.ExitCode}}' "$id")" = 0
check "its version is the one it was built with" grep -q "sidecar $version," <(docker run --rm "$tag" version)
check "its layers are the same when it is built again" hack/image.sh "$tag-again" "$version" --no-cache
check "byte by byte" same "$tag" "$tag-again"
check "it takes at most 36 MB" at_most "$(docker image inspect -f '{{.Size}}' "$tag")" 36000000
check "and 15 MB compressed" at_most "$(docker save "$tag" | gzip | wc -c)" 15000000
echo "size: $(docker image inspect -f '{{.Size}}' "$tag") bytes, $(docker save "$tag" | gzip | wc -c) compressed"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
