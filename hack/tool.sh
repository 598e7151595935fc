#!/usr/bin/env bash
# tool.sh NAME - prints the path of a tool pinned in tools/, and builds it first if it is missing.
# Binaries are kept per version of the tool and of Go, so a second run costs one `go list`.
set -euo pipefail
cd "$(dirname "$0")/../tools"

name=${1:?usage: tool.sh NAME}
ldflags='-s -w'
case $name in
cyclonedx-gomod) module=github.com/CycloneDX/cyclonedx-gomod package=$module/cmd/cyclonedx-gomod ;;
golangci-lint) module=github.com/golangci/golangci-lint/v2 package=$module/cmd/golangci-lint ;;
gotestsum) module=gotest.tools/gotestsum package=$module ;;
helm) module=helm.sh/helm/v3 package=$module/cmd/helm && cd helm ;;
*)
	echo "tool.sh: no tool $name; pin it in tools/go.mod and name it in hack/tool.sh" >&2
	exit 2
	;;
esac

version=$(go list -m -f '{{.Version}}' "$module")
out=${XDG_CACHE_HOME:-$HOME/.cache}/coxswain/tools/$name-$version-$(go env GOVERSION)/$name
if [ ! -x "$out" ]; then
	if [ "$name" = helm ]; then
		# The Kubernetes version that helm assumes without a cluster; without these -X flags the chart's kubeVersion
		# would refuse it.
		kube=$(go list -m -f '{{.Version}}' k8s.io/client-go | cut -d. -f2)
		ldflags+=" -X $module/internal/version.version=$version -X $module/internal/version.gitTreeState=clean"
		for stamped in pkg/lint/rules pkg/chartutil; do
			ldflags+=" -X $module/$stamped.k8sVersionMajor=1 -X $module/$stamped.k8sVersionMinor=$kube"
		done
	fi
	echo "tool.sh: building $name $version, once" >&2
	mkdir -p "$(dirname "$out")"
	# Built under another name and renamed, so that an interrupted build does not look finished.
	CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" -o "$out.$$" "$package"
	mv "$out.$$" "$out"
fi
echo "$out"
