#!/usr/bin/env bash
# build.sh api|node - prints the folder of the Kubernetes binaries that up.sh needs, and builds those that are missing,
# at the version pinned in tools/kube/go.mod. They are kept per version; building all six takes a quarter of an hour on 2
# cores. `build.sh node missing` builds nothing and prints the names of the missing ones.
set -euo pipefail
cd "$(dirname "$0")/../../tools/kube"

case ${1:-} in
api) commands=(kube-apiserver kubectl) ;;
node) commands=(kube-apiserver kubectl kube-controller-manager kube-scheduler kubelet kube-proxy) ;;
*)
	echo "usage: build.sh api|node [missing]" >&2
	exit 2
	;;
esac

version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/coxswain bin=$cache/kube-$version
missing=()
look() {
	missing=()
	for command in "${commands[@]}"; do
		[ -x "$bin/$command" ] || missing+=("$command")
	done
}
look
if [ "${2:-}" = missing ]; then
	echo "${missing[*]}"
	exit 0
fi
if [ ${#missing[@]} -eq 0 ]; then
	echo "$bin"
	exit 0
fi

mkdir -p "$bin"
# One process builds; others wait for the lock and then find its binaries. The leftovers of a killed one are removed.
exec 9>"$cache/kube.lock"
flock 9
look
rm -rf "$cache"/kube-build.*
# Built in another folder and renamed when complete, with a separate build cache: its 6 GB of objects are used only here.
work=$(mktemp -d "$cache/kube-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Without these -X flags the server reports v0.0.0-master, and the chart's kubeVersion refuses it.
ldflags='-s -w'
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	ldflags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$version")"
	ldflags+=" -X $package.gitTreeState=clean -X $package.gitCommit=proxy -X $package.buildDate=1970-01-01T00:00:00Z"
done
for command in "${missing[@]}"; do
	echo "build.sh: building $command $version, once" >&2
	CGO_ENABLED=0 GOCACHE=$work/cache GOFLAGS=-buildvcs=false \
		go build -trimpath -ldflags "$ldflags" -o "$work/$command" "k8s.io/kubernetes/cmd/$command"
	mv "$work/$command" "$bin/$command"
done
echo "$bin"
