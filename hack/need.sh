#!/usr/bin/env bash
# need.sh COMMAND=PACKAGE... - makes sure that each command exists: installs its Debian package as root, else says how.
# One with a space in it is a command line that succeeds when the package is there.
set -euo pipefail

missing=()
for pair in "$@"; do
	command=${pair%=*} package=${pair##*=}
	case $command in
	*\ *) bash -c "$command" >/dev/null 2>&1 || missing+=("$package") ;;
	*) command -v "$command" >/dev/null || missing+=("$package") ;;
	esac
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "need.sh: missing: ${missing[*]} (names of Debian packages)." >&2
	echo "  As root on Debian or Ubuntu: apt-get install ${missing[*]}" >&2
	echo "  Elsewhere: install what provides them, and put it on PATH." >&2
	exit 1
fi
echo "need.sh: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
# A package list that is a day old is good enough; a failed install fetches a new one and tries again.
apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 ||
	{ apt-get update -q >&2 && apt-get install -y -q --no-install-recommends "${missing[@]}" >&2; }
