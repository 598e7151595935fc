#!/usr/bin/env bash
# test-image.sh TAG VERSION - builds the image and checks that it works in a pod: as uid 65532 with a read-only root and
# within the limits of its container; clients of another uid can call it over the shared socket if they are in its group,
# and only then. It also checks the image for another architecture. Ends with `N passed, N failed`. If no Docker engine
# runs it starts one and stops it afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:?usage: test-image.sh TAG VERSION} version=${2:?usage: test-image.sh TAG VERSION}
work=$(mktemp -d) id=coxswain-test-$$ passed=0 failed=0 other=linux/arm64
cleanup() {
	docker rm -f "$id" "$id-small" "$id-other" >/dev/null 2>&1 || true
	docker volume rm "$id" >/dev/null 2>&1 || true
	docker rmi "$tag-again" "$tag-again-${other##*/}" >/dev/null 2>&1 || true
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
# says TEXT COMMAND... succeeds if the command fails and its output contains TEXT.
says() {
	local text=$1 out
	shift
	if out=$("$@" 2>&1); then return 1; fi
	echo "$out" && grep -qF "$text" <<<"$out"
}
# client ARG... runs another container of the pod: with another uid, and with the sidecar's volume.
client() { docker run --rm --network none --read-only --cap-drop ALL --user 12345:12345 -v "$id:/run/coxswain" "$@"; }
# same A B succeeds if two images have the same contents; only the time of their creation may differ.
same() {
	local f='{{json .RootFS.Layers}} {{json .Config.Entrypoint}} {{json .Config.Cmd}} {{json .Config.Env}} {{.Config.User}}'
	[ "$(docker image inspect -f "$f" "$1")" = "$(docker image inspect -f "$f" "$2")" ]
}
at_most() { echo "$1 of $2 bytes" && [ "$1" -le "$2" ]; }
# logs TEXT CONTAINER waits until the container's log has it: the engine writes the log a little later than the container.
logs() {
	local end=$((SECONDS + 120))
	until docker logs "$2" >"$work/log" 2>&1 && grep -qF "$1" "$work/log"; do
		if [ $SECONDS -ge $end ]; then cat "$work/log" && return 1; fi
		sleep 0.2
	done
}
# metric NAME VALUE CONTAINER succeeds if the container's published health port reports that value.
metric() {
	curl -fsS "http://$(docker port "$3" 8086/tcp | sed -n 1p)/metrics" >"$work/page"
	grep "^$1 " "$work/page" && grep -qxF "$1 $2" "$work/page"
}
# built_for ARCHITECTURE FILE succeeds if the binary is for that architecture.
built_for() { go version -m "$2" >"$work/log" && head -n 1 "$work/log" && grep -q "GOARCH=$1\$" "$work/log"; }
# lists MODULE SBOM succeeds if the SBOM has the module in go.mod's version.
lists() { grep "pkg:golang/$1@" "$2" && grep -qF "pkg:golang/$1@$(go list -m -f '{{.Version}}' "$1")" "$2"; }
compressed() { docker save "$1" | gzip | wc -c; }

hack/need.sh curl=curl
hack/docker-up.sh "$work"
own=$(docker version -f '{{.Server.Os}}/{{.Server.Arch}}')
[ "$own" != "$other" ] || other=linux/amd64
other_tag=$tag-${other##*/}
export PLATFORMS="$own $other"
hack/image.sh "$tag" "$version"
# Mounted as Kubernetes mounts an emptyDir in memory: owned by root, mode 1777.
docker volume create -d local -o type=tmpfs -o device=tmpfs -o o=mode=1777,size=16m "$id" >/dev/null
docker run -d --name "$id" --read-only --cap-drop ALL --security-opt no-new-privileges -v "$id:/run/coxswain" \
	"$tag" serve --redis embedded >/dev/null

check "it gets ready" docker exec "$id" /sidecar wait --timeout 120s
check "it runs as 65532:65532" test "$(docker image inspect -f '{{.Config.User}}' "$tag")" = 65532:65532
check "its root is read-only" test "$(docker inspect -f '{{.HostConfig.ReadonlyRootfs}}' "$id")" = true
check "it has no shell" says "executable file not found" docker run --rm --entrypoint sh "$tag"
check "a foreign uid in its group acquires a lock" client --group-add 65532 "$tag" call lock.acquire '{"name":"l","bind":"ttl"}'
check "one outside the group is refused by the socket's mode" says "permission denied" client "$tag" call session.ping
check "a preStop hook drains it" docker exec "$id" /sidecar drain --grace 1s
check "SIGTERM ends it" docker stop -t 120 "$id"
check "with exit code 0" test "$(docker inspect -f '{{.State.ExitCode}}' "$id")" = 0
check "its version is the one it was built with" grep -q "sidecar $version," <(docker run --rm "$tag" version)
check "its layers are the same when it is built again" hack/image.sh "$tag-again" "$version" --no-cache
check "byte by byte" same "$tag" "$tag-again"
docker create --name "$id-other" "$other_tag" >/dev/null
docker cp "$id-other:/sidecar" "$work/other"
docker cp "$id:/sidecar" "$work/sidecar"
check "the image for $other says so" \
	test "$(docker image inspect -f '{{.Os}}/{{.Architecture}}' "$other_tag")" = "$other"
check "and holds a binary for it" built_for "${other##*/}" "$work/other"
check "and is the same when it is built again" same "$other_tag" "$tag-again-${other##*/}"

docker run -d --name "$id-small" --read-only --cap-drop ALL -m 64m -p 127.0.0.1::8086 \
	--tmpfs /run/coxswain:mode=1777 "$tag" serve --redis embedded >/dev/null
check "a container of 64 MiB gets ready" docker exec "$id-small" /sidecar wait --timeout 120s
check "it tells what it keeps to" logs '"memory_limit_from":"cgroup","memory_limit_bytes":60397977' "$id-small"
check "nine tenths of the memory limit" metric go_gc_gomemlimit_bytes 6.0397977e+07 "$id-small"

check "its SBOM is written" hack/sbom.sh "$work/sidecar" "$version" "$work/sbom.json"
check "and names go-redis as go.mod does" lists github.com/redis/go-redis/v9 "$work/sbom.json"
check "and Go itself" grep -F "pkg:golang/std@" "$work/sbom.json"

for image in "$tag" "$other_tag"; do
	size=$(docker image inspect -f '{{.Size}}' "$image") small=$(compressed "$image")
	check "$image takes at most 36 MB" at_most "$size" 36000000
	check "and 15 MB compressed" at_most "$small" 15000000
	echo "size: $size bytes, $small compressed"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
