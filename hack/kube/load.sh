#!/usr/bin/env bash
# load.sh DIR IMAGE... - copies images from the Docker engine to the node that up.sh started in DIR, where they are
# docker.io/library/NAME:TAG, as the kubelet writes a name without a registry.
set -euo pipefail
dir=${1:?usage: load.sh DIR IMAGE...}
shift
docker save "$@" | ctr --address "$dir/containerd/containerd.sock" --namespace k8s.io images import --all-platforms -
