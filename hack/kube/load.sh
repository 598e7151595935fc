#!/usr/bin/env bash
# load.sh DIR IMAGE[=NAME]... - copies images from the Docker engine to the node that up.sh started in DIR, under the name
# docker.io/library/NAME (NAME is IMAGE by default), which the kubelet uses for a name without a registry.
set -euo pipefail
dir=${1:?usage: load.sh DIR IMAGE[=NAME]...}
shift
ctr=(ctr --address "$dir/containerd/containerd.sock" --namespace k8s.io images)
docker save "${@%%=*}" | "${ctr[@]}" import --all-platforms -
for pair in "$@"; do
	if [ "${pair%%=*}" != "${pair#*=}" ]; then
		"${ctr[@]}" tag --force "docker.io/library/${pair%%=*}" "docker.io/library/${pair#*=}"
	fi
done
