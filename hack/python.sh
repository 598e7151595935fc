#!/usr/bin/env bash
# python.sh DIRECTORY - builds the wheel and the source distribution of the Python client into DIRECTORY, offline, and checks
# that the wheel has all files of the source.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)

# It builds from a copy, since setuptools leaves files in the source.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r clients/python/src clients/python/pyproject.toml clients/python/README.md LICENSE "$work"
find "$work" -name __pycache__ -prune -exec rm -r {} +
rm -f "$out"/coxswain-*.whl "$out"/coxswain-*.tar.gz
# The time of the commit, so that two builds of it are the same.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
export SOURCE_DATE_EPOCH
for build in sdist wheel; do # each in a process of its own, since setuptools keeps state
	(cd "$work" && /usr/bin/python3 -c "import sys; from setuptools import build_meta; build_meta.build_$build(sys.argv[1])" "$out") >"$work/log" 2>&1 ||
		{
			cat "$work/log" >&2
			exit 1
		}
done
/usr/bin/python3 - "$out" <<'PY'
import pathlib
import sys
import zipfile

(wheel,) = pathlib.Path(sys.argv[1]).glob("coxswain-*.whl")
(sdist,) = pathlib.Path(sys.argv[1]).glob("coxswain-*.tar.gz")
source = pathlib.Path("clients/python/src")
want = {str(p.relative_to(source)) for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts and ".egg-info" not in str(p)}
have = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
if want != have:
    sys.exit(f"python.sh: {wheel.name} lacks or has beside the source: {sorted(want ^ have)}")
sys.path.insert(0, str(wheel))
import coxswain  # noqa: E402

if str(wheel) not in coxswain.__file__:
    sys.exit(f"python.sh: not imported from the wheel but from {coxswain.__file__}")
print(f"{wheel}\n{sdist}")
PY
