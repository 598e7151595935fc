{{/* Checks of the values that the schema cannot express: those that compare two values, and those of folders and quantities. */}}

{{- define "coxswain.checks" -}}
{{- include "coxswain.checkName" . -}}
{{- include "coxswain.checkResources" . -}}
{{- include "coxswain.checkSocket" . -}}
{{- include "coxswain.checkPorts" . -}}
{{- include "coxswain.checkExtra" . -}}
{{- include "coxswain.checkConfig" . -}}
{{- include "coxswain.checkNamespaces" . -}}
{{- end }}

{{/* An alias of a dependency may have characters that the name of an object may not. */}}
{{- define "coxswain.checkName" -}}
{{- $name := include "coxswain.fullname" . -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" $name) -}}
{{- fail (printf "fullnameOverride: objects cannot be named %s, which consists of the release and the chart's alias; set it to another name, or use an alias of a-z, 0-9 and -" $name) -}}
{{- end -}}
{{- end }}

{{/* A quantity as a number of cores or bytes. The schema refuses exponents. */}}
{{- define "coxswain.amount" -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- mulf (regexFind "^[0-9.]+" . | float64) (get $units (regexFind "[A-Za-z]*$" .) | default 1) -}}
{{- end }}

{{/* The minimums are those of the annotations (coxswain.variables). */}}
{{- define "coxswain.checkResources" -}}
{{- $r := .Values.resources -}}
{{- $floors := dict "cpu" "1m" "memory" "16Mi" -}}
{{- range $kind, $list := dict "requests" $r.requests "limits" $r.limits -}}
{{- range $resource, $written := $list -}}
{{- $floor := get $floors $resource -}}
{{- if and $written (lt (include "coxswain.amount" $written | float64) (include "coxswain.amount" $floor | float64)) -}}
{{- fail (printf "resources.%s.%s: %s is less than %s; write an amount from %s up, with its unit" $kind $resource $written $floor $floor) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $resource, $limit := ternary dict $r.limits $r.guaranteed -}}
{{- $request := get $r.requests $resource -}}
{{- if and $limit (gt (include "coxswain.amount" $request | float64) (include "coxswain.amount" $limit | float64)) -}}
{{- fail (printf "resources.requests.%s: %s is more than resources.limits.%s, which is %s; raise the limit or lower the request" $resource $request $resource $limit) -}}
{{- end -}}
{{- end -}}
{{- if lt (include "coxswain.amount" .Values.socket.sizeLimit | float64) 65536.0 -}}
{{- fail (printf "socket.sizeLimit: %s is less than 64Ki; write an amount from 64Ki up, with its unit" .Values.socket.sizeLimit) -}}
{{- end -}}
{{- end }}

{{- define "coxswain.checkPorts" -}}
{{- if eq (int64 .Values.http.port) (int64 .Values.http.statusPort) -}}
{{- fail (printf "http.statusPort: %d is the port of health and metrics too; choose another one" (int64 .Values.http.port)) -}}
{{- end -}}
{{- end }}

{{/* The socket's folder is a volume that is mounted in every container, so it hides the files of the image in that folder. */}}
{{- define "coxswain.checkSocket" -}}
{{- $path := .Values.socket.path -}}
{{- $dir := dir $path -}}
{{- $own := "choose a folder that only the socket uses, as in /run/coxswain/sidecar.sock" -}}
{{- if or (has ".." (splitList "/" $path)) (has "." (splitList "/" $path)) -}}
{{- fail (printf "socket.path: %s has . or .. among its folders; write the path without them" $path) -}}
{{- end -}}
{{- if or (regexMatch "^/(etc|proc|sys|dev|boot|bin|sbin|lib|lib32|lib64|libx32|usr)(/|$)" $dir) (regexMatch "^(/var)?/run/secrets(/|$)" $dir) -}}
{{- fail (printf "socket.path: the socket's volume would hide the files of containers in %s, a folder of the system; %s" $dir $own) -}}
{{- end -}}
{{- if regexMatch "^/(run|tmp|var|var/(run|tmp|log|lib|cache|spool)|home|root|opt|srv|mnt|media)$" $dir -}}
{{- fail (printf "socket.path: the socket's volume would hide everything in %s; %s" $dir $own) -}}
{{- end -}}
{{- end }}

{{- define "coxswain.checkExtra" -}}
{{- range .Values.extraVolumes -}}
{{- if has .name (list "coxswain" "coxswain-config" "coxswain-redis") -}}
{{- fail (printf "extraVolumes: %s is the name of one of the chart's own volumes; rename yours" .name) -}}
{{- end -}}
{{- end -}}
{{- $taken := list (dir .Values.socket.path) "/etc/coxswain" "/etc/coxswain-redis" -}}
{{- range .Values.extraVolumeMounts -}}
{{- if has (clean .mountPath) $taken -}}
{{- fail (printf "extraVolumeMounts: the chart mounts a volume of its own at %s; mount yours elsewhere" .mountPath) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The default of the configuration file is a Redis on the pod's own address, where there is none. */}}
{{- define "coxswain.checkConfig" -}}
{{- if not (or .Values.existingConfig (hasKey .Values.env "COXSWAIN_REDIS_URL") (dig "redis" "url" "" (.Values.config | default dict))) -}}
{{- fail "config.redis.url: missing; write the address of Redis, such as redis://redis:6379, or set env.COXSWAIN_REDIS_URL" -}}
{{- end -}}
{{- end }}

{{- define "coxswain.checkNamespaces" -}}
{{- if .Values.injection.namespaceSelector -}}
{{- if .Values.injection.namespaces -}}
{{- fail "injection.namespaceSelector: injection.namespaces is given too; keep one of the two" -}}
{{- end -}}
{{- if not .Values.existingConfig -}}
{{- fail "injection.namespaceSelector: the chart cannot create its ConfigMap in namespaces that it does not know by name; set existingConfig to the name of a ConfigMap that each of them has" -}}
{{- end -}}
{{- if .Values.networkPolicy.enabled -}}
{{- fail "injection.namespaceSelector: the chart cannot create a NetworkPolicy in namespaces that it does not know by name; set networkPolicy.enabled to false" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Refuses a second release for a namespace: the sidecar would come from the policy that happens to run first. Offline, lookup finds nothing. */}}
{{- define "coxswain.checkOthers" -}}
{{- $mine := include "coxswain.clusterName" . -}}
{{- $namespaces := ternary (list) (include "coxswain.namespaces" . | fromJsonArray) (not (empty .Values.injection.namespaceSelector)) -}}
{{- range (lookup "admissionregistration.k8s.io/v1" "MutatingAdmissionPolicyBinding" "" "").items -}}
{{- $binding := . -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $ours := and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $.Release.Namespace) -}}
{{- if and (eq (dig "metadata" "labels" "app.kubernetes.io/part-of" "" .) "coxswain") (ne .metadata.name $mine) (not $ours) -}}
{{- range dig "spec" "matchResources" "namespaceSelector" "matchExpressions" (list) . -}}
{{- range .values -}}
{{- if has . $namespaces -}}
{{- fail (printf "injection.namespaces: the policy %[2]s already adds the sidecar to the pods of %[1]s; remove the namespace from one of the two releases" . $binding.metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
