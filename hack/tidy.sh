#!/usr/bin/env bash
# tidy.sh - fails if `go mod tidy` would change a go.mod or go.sum of the project. Without it a missing sum would be noticed
# only where a tool is built for the first time, on a newcomer's machine.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=()
for module in $(git ls-files 'go.mod' '*/go.mod'); do
	(cd "$(dirname "$module")" && go mod tidy -diff) || bad+=("$(dirname "$module")")
done
[ ${#bad[@]} -eq 0 ] && exit 0
for dir in "${bad[@]}"; do
	echo "tidy.sh: run: (cd $dir && go mod tidy)" >&2
done
exit 1
