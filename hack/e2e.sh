#!/usr/bin/env bash
# e2e.sh api|node - runs the tests of internal/kubetest against a real API server, or on a real node, which it builds,
# starts and stops. The node has the images coxswain:e2e and busybox:local, and those that docs and manifests/ name.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:?usage: e2e.sh api|node}
case $mode in
api) run='^TestAPI' ;;
node) run='^TestNode' ;;
*) echo "usage: e2e.sh api|node" >&2 && exit 2 ;;
esac

if [ "$mode" = node ] && [ "$(id -u)" != 0 ]; then
	echo "e2e.sh: only root can start a node" >&2
	exit 1
fi
COXSWAIN_HELM=$(hack/tool.sh helm)
COXSWAIN_KUBE_BIN=$(hack/kube/build.sh "$mode")
export COXSWAIN_HELM COXSWAIN_KUBE_BIN COXSWAIN_KUBE=$mode COXSWAIN_KUBECTL=$COXSWAIN_KUBE_BIN/kubectl
work=$(mktemp -d)
# The servers are in sessions of their own, so they survive a KILL of this script: then a watcher stops them.
# shellcheck disable=SC2016 # the arguments are the inner shell's
setsid bash -c 'tail --pid="$1" -f /dev/null
	hack/kube/down.sh "$2/kube"; hack/docker-down.sh "$2"; rm -rf --one-file-system "$2"' watcher $$ "$work" \
	>/dev/null 2>&1 </dev/null &
watcher=$!
trap 'hack/kube/down.sh "$work/kube" || true; hack/docker-down.sh "$work" || true
	kill "$watcher" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
# kubectl and helm cache data of a server by its address, which may be that of another server next time.
export KUBECONFIG=$work/kube/admin.conf KUBECACHEDIR=$work/cache

if [ "$mode" = node ]; then
	hack/docker-up.sh "$work"
	hack/image.sh coxswain:e2e e2e
	hack/python-image.sh python:local
	hack/redis-image.sh redis:7-local
	hack/busybox-image.sh busybox:local
	hack/pause-image.sh pause:local
fi
hack/kube/up.sh "$mode" "$work/kube"
if [ "$mode" = node ]; then
	version=$(sed -n 's/^appVersion: *//p' charts/sidecar/Chart.yaml)
	hack/kube/load.sh "$work/kube" pause:local busybox:local coxswain:e2e "coxswain:e2e=coxswain:$version" \
		python:local=crawler-python:1 redis:7-local=redis:7
fi
hack/gotest.sh -count=1 -timeout "${E2E_TIMEOUT:-45m}" -run "$run" ./internal/kubetest
