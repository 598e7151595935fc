#!/usr/bin/env bash
# build.sh api|node - prints the folder of the Kubernetes binaries that up.sh needs for this, building those that are
# missing at the version pinned in tools/kube/go.mod. They are kept per version; six take a quarter of an hour on 2
# cores. `build.sh node missing` builds nothing and prints what is missing.
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
# One builds, and whoever comes meanwhile finds what it built. What an earlier one left that was killed goes.
exec 9>"$cache/kube.lock"
flock 9
look
rm -rf "$cache"/kube-build.*
# Built aside and renamed when whole, with a build cache of its own: these are 6 GB of objects that nothing else uses.
work=$(mktemp -d "$cache/kube-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Without the stamps the server says v0.0.0-master, and a chart's kubeVersion refuses it.
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
