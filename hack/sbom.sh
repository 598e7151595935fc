#!/usr/bin/env bash
# sbom.sh BINARY VERSION OUT - lists the modules and the Go that BINARY is made of, by what the linker put into it, in
# OUT: CycloneDX, JSON, the same for the same binary.
set -euo pipefail
cd "$(dirname "$0")/.."
usage='usage: sbom.sh BINARY VERSION OUT'
binary=${1:?$usage} version=${2:?$usage} out=${3:?$usage}
tool=$(hack/tool.sh cyclonedx-gomod)
"$tool" bin -json -std -noserial -notimestamp -version "$version" -output "$out" "$binary"
