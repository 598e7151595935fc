# shellcheck shell=bash disable=SC2154
# node.sh - the part of up.sh that turns this machine into a node; up.sh sources it.

start kcm "$bin/kube-controller-manager" --kubeconfig="$dir/kcm.conf" --bind-address=127.0.0.1 --leader-elect=false \
	--authentication-kubeconfig="$dir/kcm.conf" --authorization-kubeconfig="$dir/kcm.conf" \
	--service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" --use-service-account-credentials=true
start scheduler "$bin/kube-scheduler" --kubeconfig="$dir/scheduler.conf" --bind-address=127.0.0.1 --leader-elect=false \
	--authentication-kubeconfig="$dir/scheduler.conf" --authorization-kubeconfig="$dir/scheduler.conf"
# A pod cannot be created before its namespace has its default ServiceAccount.
wait_for kcm "$bin/kubectl" get serviceaccount default

# Settings that down.sh restores: the kubelet sets them for the whole machine, and pods need forwarding.
for key in net/ipv4/ip_forward vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
	kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
	echo "$key $(cat "/proc/sys/$key")"
done >"$dir/sysctl.saved"
echo 1 >/proc/sys/net/ipv4/ip_forward
# down.sh removes the chains of network plugins only if they did not exist before.
iptables -S CNI-FORWARD >/dev/null 2>&1 || touch "$dir/own-chains"

# The node has a containerd of its own. Networks are ptp and not bridge: traffic between pods is routed, so that kube-proxy's
# translation also works between two pods of one node. The firewall plugin accepts each pod's address even if dockerd has
# set the policy of FORWARD to DROP. There is no masquerade, so pods cannot reach other networks.
mkdir -p "$dir"/{cni,containerd,kubelet}
cat >"$dir/cni/10-coxswain.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "coxswain", "plugins": [
	{"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "$dir/cni-ipam",
		"ranges": [[{"subnet": "10.85.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
	{"type": "firewall", "backend": "iptables"}]}
JSON
cat >"$dir/containerd/config.toml" <<TOML
version = 2
root = "$dir/containerd/root"
state = "$dir/containerd/state"
[grpc]
  address = "$dir/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/pause:local"
  stream_server_address = "127.0.0.1"
  disable_apparmor = true
  # If this machine is a container, it may lack CAP_SYS_RESOURCE, and then the sandbox's oom_score_adj of -998 cannot be set.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
TOML
start containerd containerd --config "$dir/containerd/config.toml"
wait_for containerd ctr --address "$dir/containerd/containerd.sock" version

# The kubelet evicts no pods from a nearly full disk, which is not a matter of the tests.
cat >"$dir/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
healthzBindAddress: 127.0.0.1
readOnlyPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: AlwaysAllow}
tlsCertFile: $pki/kubelet-server.crt
tlsPrivateKeyFile: $pki/kubelet-server.key
containerRuntimeEndpoint: unix://$dir/containerd/containerd.sock
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
enforceNodeAllocatable: []
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
imageGCHighThresholdPercent: 100
syncFrequency: 5s
podLogsDir: $dir/pods
YAML
start kubelet "$bin/kubelet" --config="$dir/kubelet.yaml" --kubeconfig="$dir/kubelet.conf" --root-dir="$dir/kubelet" \
	--hostname-override="$node" --cert-dir="$dir/kubelet/pki"
wait_for kubelet "$bin/kubectl" wait --for=condition=Ready "node/$node" --timeout=5s

# kube-proxy implements Services in its nftables mode, which uses tables of its own.
cat >"$dir/proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
bindAddress: 127.0.0.1
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
clusterCIDR: 10.85.0.0/24
hostnameOverride: $node
nodePortAddresses: ["127.0.0.0/8"]
clientConnection: {kubeconfig: $dir/admin.conf}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
YAML
start proxy "$bin/kube-proxy" --config="$dir/proxy.yaml"
wait_for proxy curl -fs http://127.0.0.1:10256/livez
