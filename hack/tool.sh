#!/usr/bin/env bash
# tool.sh NAME - prints the path of a tool pinned in tools/go.mod, building it first where it is missing.
# Binaries are kept per version of the tool and of Go, so a second run costs one `go list`.
set -euo pipefail
cd "$(dirname "$0")/../tools"

name=${1:?usage: tool.sh NAME}
case $name in
golangci-lint) module=github.com/golangci/golangci-lint/v2 package=$module/cmd/golangci-lint ;;
gotestsum) module=gotest.tools/gotestsum package=$module ;;
*)
	echo "tool.sh: no tool $name; pin it in tools/go.mod and name it in hack/tool.sh" >&2
	exit 2
	;;
esac

version=$(go list -m -f '{{.Version}}' "$module")
out=${XDG_CACHE_HOME:-$HOME/.cache}/coxswain/tools/$name-$version-$(go env GOVERSION)/$name
if [ ! -x "$out" ]; then
	echo "tool.sh: building $name $version, once" >&2
	mkdir -p "$(dirname "$out")"
	# Built aside and renamed, so that an interrupted build leaves nothing that looks finished.
	go build -trimpath -ldflags '-s -w' -o "$out.$$" "$package"
	mv "$out.$$" "$out"
fi
echo "$out"
