#!/usr/bin/env bash
# golang-image.sh [TAG] - makes a local substitute for golang:1.26 from this machine's own Go toolchain, so that the
# Dockerfile builds without a registry: busybox, Go and the CA certificates, enough for CGO_ENABLED=0 builds.
# Needs a Docker engine.
set -euo pipefail
cd "$(dirname "$0")"
tag=${1:-golang:1.26}
./need.sh 'test -x /bin/busybox && ! ldd /bin/busybox=busybox-static' 'test -r /etc/ssl/certs/ca-certificates.crt=ca-certificates'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

mkdir -p "$root"/{bin,etc/ssl/certs,tmp,go,usr/local,root}
chmod 1777 "$root/tmp"
cp /bin/busybox "$root/bin/"
for applet in $(/bin/busybox --list); do
	[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
cp -r "$(go env GOROOT)" "$root/usr/local/go"
rm -rf "$root"/usr/local/go/{test,doc,api}
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$root" -cf "$work/root.tar" .
rm -rf "$root"
cat >"$work/Dockerfile" <<'DOCKER'
FROM scratch
ADD root.tar /
ENV GOPATH=/go GOTOOLCHAIN=local PATH=/go/bin:/usr/local/go/bin:/bin
WORKDIR /go
CMD ["sh"]
DOCKER
# The classic builder, since some docker commands have no other one.
DOCKER_BUILDKIT=0 docker build -q -t "$tag" "$work" >/dev/null
docker images --format '{{.Repository}}:{{.Tag}} {{.ID}} {{.Size}}' "$tag"
