#!/usr/bin/env bash
# up.sh api|node DIR - starts a temporary Kubernetes on loopback in DIR, an empty folder; down.sh DIR stops it. It uses
# the binaries in $COXSWAIN_KUBE_BIN, which build.sh prints. Use it with KUBECONFIG=DIR/admin.conf.
#   api   etcd and the API server, without controllers: only requests change objects. Several may run at the same time.
#   node  controllers, scheduler, containerd, kubelet and kube-proxy too. Needs root. Only one per machine, since its
#         ports are fixed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mode=${1:?usage: up.sh api|node DIR} dir=${2:?usage: up.sh api|node DIR}
bin=${COXSWAIN_KUBE_BIN:?the folder that hack/kube/build.sh prints} node=localhost

"$here/../need.sh" etcd=etcd-server openssl=openssl curl=curl
if [ "$mode" = node ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "up.sh: only root can start a node" >&2
		exit 1
	fi
	"$here/../need.sh" containerd=containerd runc=runc iptables=iptables nft=nftables ip=iproute2 \
		'test -x /usr/lib/cni/ptp=containernetworking-plugins'
	if (exec 3<>/dev/tcp/127.0.0.1/10250) 2>/dev/null; then
		echo "up.sh: port 10250 is in use: a kubelet already runs here (if a killed run has left it, stop it by hack/kube/down.sh DIR)" >&2
		exit 1
	fi
fi

mkdir -p "$dir"/{pki,log,pid}
dir=$(cd "$dir" && pwd) pki=$dir/pki
cd "$dir"
up=''
# If a step fails, all processes are stopped.
trap '[ -n "$up" ] || "$here/down.sh" "$dir"' EXIT

# start NAME COMMAND... runs a process in a session of its own, so that an interrupt in the terminal ends only the tests;
# down.sh then stops the cluster.
start() {
	local name=$1
	shift
	setsid "$@" >"$dir/log/$name.log" 2>&1 </dev/null &
	echo $! >"$dir/pid/$name"
}
# wait_for NAME COMMAND... repeats the command until it succeeds, as long as the process NAME runs.
wait_for() {
	local name=$1 limit=$((SECONDS + 300))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $limit ] || ! kill -0 "$(cat "$dir/pid/$name")" 2>/dev/null; then
			echo "up.sh: $name does not start; the end of its log:" >&2
			tail -n 20 "$dir/log/$name.log" >&2
			return 1
		fi
		sleep 0.3
	done
}
# free_port OTHER... prints a free port of loopback, below the range that the kernel assigns to clients, and none of these others.
free_port() {
	local port
	while port=$((20000 + RANDOM % 10000)) && { [[ " $* " == *" $port "* ]] || (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }; do :; done
	echo "$port"
}

# cert NAME SUBJECT EXTENSION makes a key and a certificate signed by the cluster's CA.
cert() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$pki/$1.key" -out "$pki/$1.csr" \
		-subj "$2" 2>/dev/null
	openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 30 \
		-out "$pki/$1.crt" -extfile <(echo "$3") 2>/dev/null
}
api=$(free_port)
etcd=$(free_port "$api")
peer=$(free_port "$api" "$etcd")
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$pki/ca.key" -out "$pki/ca.crt" -days 30 \
	-subj /CN=coxswain-test 2>/dev/null
names='subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1'
cert apiserver /CN=kube-apiserver "$names"
cert kubelet-server "/CN=$node" "$names"
cert admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth
cert kcm /CN=system:kube-controller-manager extendedKeyUsage=clientAuth
cert scheduler /CN=system:kube-scheduler extendedKeyUsage=clientAuth
cert kubelet "/O=system:nodes/CN=system:node:$node" extendedKeyUsage=clientAuth
openssl ecparam -name prime256v1 -genkey -noout -out "$pki/sa.key" 2>/dev/null
openssl ec -in "$pki/sa.key" -pubout -out "$pki/sa.pub" 2>/dev/null
for user in admin kcm scheduler kubelet; do
	cat >"$dir/$user.conf" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: k, cluster: {server: "https://127.0.0.1:$api", certificate-authority: $pki/ca.crt}}]
users: [{name: $user, user: {client-certificate: $pki/$user.crt, client-key: $pki/$user.key}}]
contexts: [{name: k, context: {cluster: k, user: $user}}]
current-context: k
YAML
done
export KUBECONFIG=$dir/admin.conf

start etcd etcd --name k --data-dir "$dir/etcd" \
	--listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
	--listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
	--initial-cluster "k=http://127.0.0.1:$peer"
wait_for etcd curl -fs "http://127.0.0.1:$etcd/health"
# Without controllers there are no service accounts, and their admission plugin would refuse every pod.
without=()
[ "$mode" = node ] || without=(--disable-admission-plugins=ServiceAccount)
start apiserver "$bin/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd" \
	--bind-address=127.0.0.1 --secure-port="$api" --endpoint-reconciler-type=none \
	--tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
	--service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/sa.pub" \
	--service-account-signing-key-file="$pki/sa.key" --service-cluster-ip-range=10.96.0.0/16 \
	--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
	--kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" \
	--kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=Hostname "${without[@]}"
wait_for apiserver "$bin/kubectl" get --raw /readyz
if [ "$mode" = node ]; then
	# shellcheck source=hack/kube/node.sh
	source "$here/node.sh"
fi
up=yes
version=$("$bin/kubectl" version -o json | sed -n '/serverVersion/,$ s/.*"gitVersion": "\(.*\)".*/\1/p')
echo "kube: $version ($mode) is up"
