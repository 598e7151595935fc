#!/usr/bin/env bash
# sbom.sh BINARY VERSION OUT - lists the modules and the Go version of BINARY, from the build information in it, in
# OUT: CycloneDX, JSON, the same for the same binary.
set -euo pipefail
cd "$(dirname "$0")/.."
usage='usage: sbom.sh BINARY VERSION OUT'
binary=${1:?$usage} version=${2:?$usage} out=${3:?$usage}
tool=$(hack/tool.sh cyclonedx-gomod)
"$tool" bin -json -std -noserial -notimestamp -version "$version" -output "$out" "$binary"
