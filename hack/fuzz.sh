#!/usr/bin/env bash
# fuzz.sh TIME - fuzzes every target of the module for TIME each (10s, 5m), one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: fuzz.sh TIME}

count=0
for package in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
	dir=$(go list -f '{{.Dir}}' "$package")
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //' || true); do
		echo "fuzz: $package $target for $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
		count=$((count + 1))
	done
done
if [ $count = 0 ]; then
	echo "fuzz.sh: no fuzz target found" >&2
	exit 1
fi
echo "$count passed, 0 failed"
