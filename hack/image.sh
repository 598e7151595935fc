#!/usr/bin/env bash
# image.sh TAG VERSION [ARG...] - builds the image by the Dockerfile; further arguments are passed to docker build. PLATFORMS
# lists the platforms (such as "linux/amd64 linux/arm64"; the engine's own by default). The image for another architecture
# gets the tag TAG-ARCHITECTURE, since an engine keeps one image per tag. Modules come from this machine's caches, and if
# no registry has golang:1.26 a substitute is built, so this works offline. Needs a Docker engine: hack/docker-up.sh
# starts one.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:?usage: image.sh TAG VERSION} version=${2:?usage: image.sh TAG VERSION}
shift 2

# A docker command with BuildKit: Debian's has it built in, others need the buildx plugin.
builder=''
for docker in "$(command -v docker)" /usr/bin/docker; do
	if "$docker" buildx version >/dev/null 2>&1 ||
		[ "$("$docker" version -f '{{.Client.Version}}' | cut -d. -f1)" -lt 23 ]; then
		builder=$docker
		break
	fi
done
if [ -z "$builder" ]; then
	echo "image.sh: no docker here can use BuildKit: install docker-buildx, or Debian's docker.io" >&2
	exit 1
fi

if ! docker image inspect golang:1.26 >/dev/null 2>&1 && ! timeout 60 docker pull -q golang:1.26 >/dev/null 2>&1; then
	echo "image.sh: golang:1.26 cannot be pulled from a registry; building a substitute"
	hack/golang-image.sh golang:1.26
fi

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp -r go.mod go.sum client cmd internal Dockerfile .dockerignore "$context"
(cd "$context" && go mod vendor)
own=$(docker version -f '{{.Server.Os}}/{{.Server.Arch}}')
for platform in ${PLATFORMS:-$own}; do
	name=$tag
	[ "$platform" = "$own" ] || name=$tag-${platform##*/}
	DOCKER_BUILDKIT=1 "$builder" build -q --platform "$platform" --build-arg VERSION="$version" -t "$name" "$@" \
		"$context" >/dev/null
	docker images --format "{{.Repository}}:{{.Tag}} $platform {{.ID}} {{.Size}}" "$name"
done
