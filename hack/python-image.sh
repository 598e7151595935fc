#!/usr/bin/env bash
# python-image.sh [TAG] - builds an image (python:local) of Debian's Python 3 with its standard library and msgpack,
# FROM scratch, so that no registry is needed: the image of the crawler of the tests. Needs a Docker engine.
set -euo pipefail
cd "$(dirname "$0")"
tag=${1:-python:local}
./need.sh /usr/bin/python3=python3-minimal '/usr/bin/python3 -c "import msgpack, json, socket"=python3-msgpack' \
	'test -x /bin/busybox && ! ldd /bin/busybox=busybox-static'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,etc,tmp,usr/bin,usr/lib/python3/dist-packages}
chmod 1777 "$root/tmp"

python=$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
install -m 0755 "$(readlink -f /usr/bin/python3)" "$root/usr/bin/$python"
ln -s "$python" "$root/usr/bin/python3"
cp -a "/usr/lib/$python" "$root/usr/lib/"
rm -rf "$root/usr/lib/$python"/{test,idlelib,tkinter,ensurepip,config-*}
cp -a /usr/lib/python3/dist-packages/msgpack "$root/usr/lib/python3/dist-packages/"
find "$root" -name __pycache__ -prune -exec rm -rf {} +
# The libraries that the interpreter and its modules are linked with. ldd fails for a file that is not linked.
find "$root/usr/bin" "$root/usr/lib" -type f \( -name '*.so*' -o -perm -u+x \) -print0 |
	{ xargs -0 ldd 2>/dev/null || true; } |
	awk '/^\t/ { for (i = 1; i <= NF; i++) if ($i ~ /^\//) print $i }' | sort -u |
	while read -r lib; do
		[ -e "$root$lib" ] || install -D -m 0755 "$(readlink -f "$lib")" "$root$lib"
	done
cp /bin/busybox "$root/bin/"
for applet in cat ls nc sh sleep wget; do ln -s busybox "$root/bin/$applet"; done
printf 'root:x:0:0:root:/:/bin/sh\napp:x:1001:1001::/tmp:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\napp:x:1001:\n' >"$root/etc/group"

# Fixed times, owners and order make the layer, and so the image, the same each time.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu -C "$root" -cf "$work/root.tar" .
rm -rf "$root"
cat >"$work/Dockerfile" <<'DOCKER'
FROM scratch
ADD root.tar /
ENV PATH=/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1
CMD ["python3"]
DOCKER
# The classic builder: Debian's docker.io has no buildx.
DOCKER_BUILDKIT=0 docker build -q -t "$tag" "$work" >/dev/null
docker images --format '{{.Repository}}:{{.Tag}} {{.ID}} {{.Size}}' "$tag"
