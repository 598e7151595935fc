#!/usr/bin/env bash
# redis-image.sh [TAG] - builds the Redis image that the tests use (redis:7-local) from Debian packages, FROM
# scratch, so that no registry is needed. The same packages give the same image.
# Needs a Docker engine. The image's entrypoint takes the same arguments as that of the official image.
set -euo pipefail
cd "$(dirname "$0")"
tag=${1:-redis:7-local}
./need.sh redis-server=redis-server redis-cli=redis-tools 'test -x /bin/busybox && ! ldd /bin/busybox=busybox-static'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# add FILE... copies binaries and the libraries they are linked with to the same paths under $root; links are
# resolved, since /lib may itself be one.
add() {
	local file lib
	for file in "$@"; do
		install -D -m 0755 "$(readlink -f "$file")" "$root$file"
		# A static binary has no libraries, and then grep finds nothing.
		for lib in $(ldd "$file" 2>/dev/null | grep -oE '/[^ )]+' || true); do
			[ -e "$root$lib" ] || install -D -m 0755 "$(readlink -f "$lib")" "$root$lib"
		done
	done
}

mkdir -p "$root"/{bin,data,etc,tmp,usr/local/bin}
chmod 1777 "$root/tmp"
add "$(command -v redis-server)" "$(command -v redis-cli)"
cp /bin/busybox "$root/bin/"
ln -s busybox "$root/bin/sh"
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
# Protected mode is off: Debian's Redis otherwise refuses clients that come through the container bridge.
cat >"$root/usr/local/bin/docker-entrypoint.sh" <<'SH'
#!/bin/sh
set -e
case "$1" in
-* | *.conf | '') set -- redis-server "$@" ;;
esac
[ "$1" != redis-server ] || set -- "$@" --protected-mode no
exec "$@"
SH
chmod 755 "$root/usr/local/bin/docker-entrypoint.sh"

# Fixed times, owners and order make the layer, and so the image, the same each time.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu -C "$root" -cf "$work/root.tar" .
rm -rf "$root"
cat >"$work/Dockerfile" <<'DOCKER'
FROM scratch
ADD root.tar /
ENV PATH=/usr/bin:/bin
WORKDIR /data
EXPOSE 6379
ENTRYPOINT ["/usr/local/bin/docker-entrypoint.sh"]
CMD ["redis-server"]
DOCKER
# The classic builder: Debian's docker.io has no buildx.
DOCKER_BUILDKIT=0 docker build -q -t "$tag" "$work" >/dev/null
docker images --format '{{.Repository}}:{{.Tag}} {{.ID}} {{.Size}}' "$tag"
