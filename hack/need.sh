#!/usr/bin/env bash
# need.sh COMMAND=PACKAGE... - makes sure that each command exists: as root it installs the Debian package, otherwise it
# prints how to. A COMMAND with a space in it is a command line that succeeds if the package is installed.
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
	echo "  On other systems: install the programs, and put them on PATH." >&2
	exit 1
fi
echo "need.sh: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
# A package list of the last day is recent enough; if an install fails, a new list is fetched for a second try.
apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 ||
	{ apt-get update -q >&2 && apt-get install -y -q --no-install-recommends "${missing[@]}" >&2; }
