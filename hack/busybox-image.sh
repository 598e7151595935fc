#!/usr/bin/env bash
# busybox-image.sh [TAG] - builds an image (busybox:local) of Debian's static busybox, FROM scratch, so that no registry
# is needed: a shell and the usual tools, for pods of tests. Needs a Docker engine.
set -euo pipefail
cd "$(dirname "$0")"
tag=${1:-busybox:local}
./need.sh 'test -x /bin/busybox && ! ldd /bin/busybox=busybox-static'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,etc,tmp}
chmod 1777 "$root/tmp"
cp /bin/busybox "$root/bin/"
for applet in $(/bin/busybox --list); do
	[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
# Fixed times, owners and order make the layer, and so the image, the same each time.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu -C "$root" -cf "$work/root.tar" .
rm -rf "$root"
cat >"$work/Dockerfile" <<'DOCKER'
FROM scratch
ADD root.tar /
ENV PATH=/bin
CMD ["sh"]
DOCKER
# The classic builder: Debian's docker.io has no buildx.
DOCKER_BUILDKIT=0 docker build -q -t "$tag" "$work" >/dev/null
docker images --format '{{.Repository}}:{{.Tag}} {{.ID}} {{.Size}}' "$tag"
