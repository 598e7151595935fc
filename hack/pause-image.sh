#!/usr/bin/env bash
# pause-image.sh [TAG] - builds the image (pause:local) of the container that keeps the namespaces of each pod of the test
# node, FROM scratch, so that no registry is needed. Needs a Docker engine.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:-pause:local}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$work/pause" ./hack/kube/pause
cat >"$work/Dockerfile" <<'DOCKER'
FROM scratch
ADD pause /pause
USER 65535:65535
ENTRYPOINT ["/pause"]
DOCKER
# The classic builder: Debian's docker.io has no buildx.
DOCKER_BUILDKIT=0 docker build -q -t "$tag" "$work" >/dev/null
docker images --format '{{.Repository}}:{{.Tag}} {{.ID}} {{.Size}}' "$tag"
