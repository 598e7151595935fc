{{/*
What the sidecar is in a pod, written once. The named templates that other charts include render it as YAML; the policy
renders the same as CEL, with expressions in the places that annotations of a pod decide (see _cel.tpl).

A chart that has this one as a dependency writes, with no policy and from Kubernetes 1.29 on:

  securityContext: {supplementalGroups: [65532]}
  initContainers:
    {{- include "coxswain.container" .Subcharts.sidecar | nindent 4 }}
  containers:
    - name: crawler
      env: {{- include "coxswain.env" .Subcharts.sidecar | nindent 8 }}
      volumeMounts: {{- include "coxswain.volumeMounts" .Subcharts.sidecar | nindent 8 }}
  volumes: {{- include "coxswain.volumes" .Subcharts.sidecar | nindent 4 }}
*/}}

{{- define "coxswain.container" -}}
{{- $pod := dict "image" (include "coxswain.image" .) "httpPort" .Values.http.port "grace" (printf "%ds" (int .Values.terminationGracePeriodSeconds)) -}}
{{- $c := include "coxswain.containerFor" (dict "root" . "pod" $pod) | fromYaml -}}
{{- $_ := set $c "env" (concat $c.env (include "coxswain.ownEnv" . | fromYamlArray | default list)) -}}
{{- if ne .Values.readiness.mode "none" -}}
{{- $_ := set $c "readinessProbe" (include "coxswain.readinessProbe" (dict "root" . "pod" $pod) | fromYaml) -}}
{{- end -}}
{{- $_ := set $c "resources" (include "coxswain.resources" . | fromYaml) -}}
{{- list $c | toYaml -}}
{{- end }}

{{/* Of the app's containers. */}}
{{- define "coxswain.env" -}}
- name: COXSWAIN_SOCKET
  value: {{ .Values.socket.path | quote }}
{{- end }}

{{/* Of the app's containers. */}}
{{- define "coxswain.volumeMounts" -}}
- name: coxswain
  mountPath: {{ dir .Values.socket.path | quote }}
{{- end }}

{{- define "coxswain.volumes" -}}
{{- include "coxswain.volumesFor" (dict "root" . "config" (include "coxswain.configName" .)) -}}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "coxswain.volumesFor" -}}
- name: coxswain
  emptyDir:
    medium: Memory
    sizeLimit: {{ .root.Values.socket.sizeLimit | quote }}
- name: coxswain-config
  configMap:
    name: {{ .config | toJson }}
{{- with .root.Values.redis.passwordSecret.name }}
- name: coxswain-redis
  secret:
    secretName: {{ . | toJson }}
{{- end }}
{{- end }}

{{/* The container without what only some pods have: readinessProbe, resources, part of env. */}}
{{- define "coxswain.containerFor" -}}
{{- $v := .root.Values -}}
name: coxswain
image: {{ .pod.image | toJson }}
imagePullPolicy: {{ $v.image.pullPolicy | toJson }}
restartPolicy: Always
args: [serve{{ if eq $v.probes.type "exec" }}, "--http", ""{{ end }}]
env:
  {{- include "coxswain.env" .root | nindent 2 }}
  {{- /* Not an argument: commands that are run in the container read it too, such as sidecar doctor. */}}
  - name: COXSWAIN_CONFIG
    value: /etc/coxswain/sidecar.yaml
{{- with $v.http.statusPort }}
  - name: COXSWAIN_HTTP_STATUS_ADDR
    value: "127.0.0.1:{{ int64 . }}"
{{- end }}
{{- if $v.redis.passwordSecret.name }}
  - name: COXSWAIN_REDIS_PASSWORD_FILE
    value: {{ printf "/etc/coxswain-redis/%s" $v.redis.passwordSecret.key | toJson }}
{{- end }}
{{- $own := dict "COXSWAIN_SOCKET" "socket.path" "COXSWAIN_CONFIG" "existingConfig" "COXSWAIN_HTTP_ADDR" "http.port" "COXSWAIN_HTTP_STATUS_ADDR" "http.statusPort" "COXSWAIN_TELEMETRY_LOG_LEVEL" "logLevel" "COXSWAIN_READINESS_MODE" "readiness.mode" "COXSWAIN_REDIS_PASSWORD_FILE" "redis.passwordSecret" }}
{{- range $name, $value := $v.env }}
{{- with get $own $name }}
{{- fail (printf "env.%s: the chart sets this variable itself; use %s" $name .) }}
{{- end }}
  - name: {{ $name | toJson }}
{{- if kindIs "string" $value }}
    value: {{ $value | toJson }}
{{- else }}
    {{- toYaml $value | nindent 4 }}
{{- end }}
{{- end }}
{{- if eq $v.probes.type "http" }}
ports:
  - name: coxswain-http
    containerPort: {{ .pod.httpPort | toJson }}
    protocol: TCP
{{- end }}
{{- /* What waits for the socket is postStart: a startup probe comes once a second and the app with it, postStart the moment it is there.
A postStart that fails has the container started anew, as a startup probe has that fails. */}}
{{- if $v.startup.waitForRedis }}
{{- /* A day: a restart brings no Redis, and its back-off would hold the app after Redis is there. */}}
startupProbe:
  exec:
    command: [/sidecar, probe, redis]
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 86400
{{- end }}
livenessProbe:
  {{- include "coxswain.probe" (dict "root" .root "pod" .pod "path" "/livez" "word" "live") | nindent 2 }}
  {{- toYaml $v.probes.liveness | nindent 2 }}
lifecycle:
  postStart:
    exec:
      command: [/sidecar, wait, live, --timeout, {{ printf "%ds" (int64 $v.startup.timeoutSeconds) | toJson }}]
  preStop:
    exec:
      command: [/sidecar, drain, --grace, {{ .pod.grace | toJson }}]
securityContext:
  {{- include "coxswain.securityContext" .root | nindent 2 }}
volumeMounts:
  {{- include "coxswain.volumeMounts" .root | nindent 2 }}
  - name: coxswain-config
    mountPath: /etc/coxswain
    readOnly: true
{{- if $v.redis.passwordSecret.name }}
  - name: coxswain-redis
    mountPath: /etc/coxswain-redis
    readOnly: true
{{- end }}
{{- with $v.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "coxswain.securityContext" -}}
{{- $c := dict
  "allowPrivilegeEscalation" false
  "readOnlyRootFilesystem" true
  "runAsNonRoot" true
  "capabilities" (dict "drop" (list "ALL"))
  "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- with .Values.user.uid }}{{ $_ := set $c "runAsUser" . }}{{ end -}}
{{- with .Values.user.gid }}{{ $_ := set $c "runAsGroup" . }}{{ end -}}
{{- mergeOverwrite $c (deepCopy .Values.securityContext) | toYaml -}}
{{- end }}

{{- define "coxswain.probe" -}}
{{- if eq .root.Values.probes.type "http" -}}
httpGet:
  path: {{ .path }}
  port: {{ .pod.httpPort | toJson }}
{{- else -}}
exec:
  command: [/sidecar, probe, {{ .word }}]
{{- end -}}
{{- end }}

{{- define "coxswain.readinessProbe" -}}
{{- include "coxswain.probe" (dict "root" .root "pod" .pod "path" "/readyz" "word" "ready") }}
{{ toYaml .root.Values.probes.readiness }}
{{- end }}

{{/* What variables stand over the configuration file, and only where a value says so: a file can be reloaded. */}}
{{- define "coxswain.ownEnv" -}}
{{- if eq .Values.probes.type "http" }}
- name: COXSWAIN_HTTP_ADDR
  value: ":{{ .Values.http.port }}"
{{- end }}
{{- with .Values.logLevel }}
- name: COXSWAIN_TELEMETRY_LOG_LEVEL
  value: {{ . | toJson }}
{{- end }}
{{- if has .Values.readiness.mode (list "redis" "always") }}
- name: COXSWAIN_READINESS_MODE
  value: {{ .Values.readiness.mode | toJson }}
{{- end }}
{{- end }}

{{- define "coxswain.resources" -}}
{{- $r := .Values.resources -}}
{{- $limits := dict "memory" $r.limits.memory -}}
{{- with $r.limits.cpu }}{{ $_ := set $limits "cpu" . }}{{ end -}}
{{- dict "limits" $limits "requests" (ternary $limits $r.requests $r.guaranteed) | toYaml -}}
{{- end }}
