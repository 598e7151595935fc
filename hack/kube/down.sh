#!/usr/bin/env bash
# down.sh DIR - stops the processes that up.sh started in DIR, by the recorded process ids only, then removes what a node
# leaves on the machine (mounts, networks, rules), restores kernel settings, and empties DIR. It may be run again.
set -uo pipefail
# An interrupt must not leave the work half done.
trap '' INT TERM HUP
dir=${1:?usage: down.sh DIR}
[ -d "$dir/pid" ] || exit 0
dir=$(cd "$dir" && pwd)

# A zombie, which its parent has not waited for, counts as ended.
alive() { [ -r "/proc/$1/status" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; }
# pid_of NAME prints the process id if it still belongs to that process: after a reboot another process may have it, but
# each process of up.sh has DIR on its command line.
pid_of() {
	local pid
	pid=$(cat "$dir/pid/$1" 2>/dev/null) && grep -qaF "$dir" "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
}
# stop NAME... sends SIGTERM to all of them, waits for each up to 15 s, then kills it.
stop() {
	local name pid
	for name in "$@"; do
		if pid=$(pid_of "$name"); then kill -TERM "$pid" 2>/dev/null; fi
	done
	for name in "$@"; do
		pid=$(pid_of "$name") || continue
		for _ in $(seq 150); do
			alive "$pid" || break
			sleep 0.1
		done
		if alive "$pid"; then kill -KILL "$pid" 2>/dev/null; fi
	done
}

stop kubelet proxy
socket=$dir/containerd/containerd.sock
if [ -S "$socket" ]; then
	# Without the kubelet, nothing starts these again.
	c=(timeout 20 ctr --address "$socket" --namespace k8s.io)
	for task in $("${c[@]}" task ls -q 2>/dev/null); do "${c[@]}" task kill -s KILL "$task" >/dev/null 2>&1; done
	for task in $("${c[@]}" task ls -q 2>/dev/null); do
		for _ in $(seq 50); do
			"${c[@]}" task delete -f "$task" >/dev/null 2>&1 && break
			sleep 0.1
		done
	done
	for container in $("${c[@]}" container ls -q 2>/dev/null); do
		"${c[@]}" container delete "$container" >/dev/null 2>&1
	done
fi
stop containerd scheduler kcm apiserver
stop etcd

# Mounts below DIR, deepest first.
awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do
	umount -l "$mount" 2>/dev/null
done
if [ -f "$dir/sysctl.saved" ]; then
	while read -r key value; do echo "$value" >"/proc/sys/$key"; done <"$dir/sysctl.saved"
	# The plugins' notes say which network namespaces were our pods'.
	for note in /var/lib/cni/results/coxswain-*; do
		[ -f "$note" ] || continue
		netns=$(grep -oE 'netns/cni-[0-9a-f-]+' "$note" | head -n 1)
		[ -z "$netns" ] || ip netns delete "${netns#netns/}" 2>/dev/null || [ ! -e "/run/$netns" ] || continue
		id=${note##*/coxswain-}
		rm -f "$note" "/var/lib/cni/results/cni-loopback-${id%-eth0}-lo"
	done
	if [ -f "$dir/pid/proxy" ]; then
		for family in ip ip6; do nft delete table "$family" kube-proxy 2>/dev/null; done
	fi
	if [ -f "$dir/own-chains" ]; then
		while iptables -D FORWARD -m comment --comment "CNI firewall plugin rules" -j CNI-FORWARD 2>/dev/null; do :; done
		for chain in CNI-FORWARD CNI-ADMIN; do iptables -F "$chain" 2>/dev/null; done
		for chain in CNI-FORWARD CNI-ADMIN; do iptables -X "$chain" 2>/dev/null; done
	fi
	for link in /var/log/containers/*.log; do
		case $(readlink "$link") in "$dir"/*) rm -f "$link" ;; esac
	done
	# The kubelet's cgroups, one tree per controller where they are v1. Only empty ones go.
	for tree in /sys/fs/cgroup/*/kubepods /sys/fs/cgroup/kubepods; do
		[ ! -d "$tree" ] || find "$tree" -depth -type d -exec rmdir {} \; 2>/dev/null
	done
fi
rm -rf --one-file-system "${dir:?}"/*
exit 0
