#!/usr/bin/env bash
# run.sh - reads the test vectors in other languages, and calls a sidecar from them. For each check a script prints a line
# `ok NAME` or `not ok NAME: why`. A missing interpreter is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d)
pid=
# The sidecar is stopped by its pid; its output is shown only if a check failed.
finish() {
	rc=$?
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	fi
	if [ "$rc" != 0 ] && [ -s "$dir/sidecar.log" ]; then sed 's/^/sidecar: /' "$dir/sidecar.log" >&2; fi
	rm -rf "$dir"
}
trap finish EXIT

go build -o "$dir/sidecar" ./cmd/sidecar
export COXSWAIN_SOCKET=$dir/s.sock
export PATH=$dir:$PATH
"$dir/sidecar" serve --redis embedded --http 127.0.0.1:0 >"$dir/sidecar.log" 2>&1 &
pid=$!
"$dir/sidecar" wait --timeout 5m >/dev/null

passed=0 failed=0

# check LANGUAGE COMMAND... runs one script and counts its checks. A script that exits with an error and reports no failed
# check counts as one failure.
check() {
	local language=$1 rc=0 p f
	shift
	"$@" >"$dir/out" 2>"$dir/err" </dev/null || rc=$?
	p=$(grep -c '^ok ' "$dir/out" || true)
	f=$(grep -c '^not ok ' "$dir/out" || true)
	if [ "$f" = 0 ] && { [ "$rc" != 0 ] || [ "$p" = 0 ]; }; then
		f=1
		echo "not ok $language: exit code $rc after $p checks" >>"$dir/out"
	fi
	if [ "$f" != 0 ]; then
		grep '^not ok ' "$dir/out" | sed "s/^/$language: /" >&2
		sed "s/^/$language: /" "$dir/err" >&2
	fi
	printf '%-16s %3d passed, %d failed\n' "$language" "$p" "$f"
	passed=$((passed + p)) failed=$((failed + f))
}

vectors=client/testdata/vectors
check python-vectors /usr/bin/python3 hack/langs/vectors.py "$vectors"
check ruby-vectors ruby hack/langs/vectors.rb "$vectors"
check python-wire /usr/bin/python3 hack/langs/wire.py "$vectors"
check python /usr/bin/python3 hack/langs/smoke.py
check python-stream /usr/bin/python3 hack/langs/stream.py
check python-manifest /usr/bin/python3 hack/langs/manifest.py
check ruby ruby hack/langs/smoke.rb
check perl perl hack/langs/smoke.pl
examples=hack/langs/examples.py
check ruby-example /usr/bin/python3 $examples ruby examples/ruby/coxswain.rb
check php-example /usr/bin/python3 $examples php examples/php/coxswain.php
check perl-example /usr/bin/python3 $examples perl examples/perl/coxswain.pl
check lua-example /usr/bin/python3 $examples lua5.3 examples/lua/coxswain.lua
check shell-example /usr/bin/python3 $examples sh examples/shell/coxswain.sh
check neovim nvim --headless -u NONE -i NONE -n -c 'luafile hack/langs/smoke.lua'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
