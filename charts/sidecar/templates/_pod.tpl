{{/*
The sidecar's container and volumes, defined once. The named templates that other charts include render them as YAML; the
policy renders the same as CEL, with expressions for the values that annotations of a pod override (see _cel.tpl).

A chart that has this one as a dependency includes it as follows, without a policy, from Kubernetes 1.29 on:

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

{{/* Environment variables of the app's containers. */}}
{{- define "coxswain.env" -}}
- name: COXSWAIN_SOCKET
  value: {{ .Values.socket.path | quote }}
{{- end }}

{{/* Volume mounts of the app's containers. */}}
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

{{/* The container without the fields that differ between pods: readinessProbe, resources, part of env. */}}
{{- define "coxswain.containerFor" -}}
{{- $v := .root.Values -}}
name: coxswain
image: {{ .pod.image | toJson }}
imagePullPolicy: {{ $v.image.pullPolicy | toJson }}
restartPolicy: Always
args: [serve{{ if eq $v.probes.type "exec" }}, "--http", ""{{ end }}]
env:
  {{- include "coxswain.env" .root | nindent 2 }}
  {{- /* A variable and not an argument, since commands that are run in the container, such as sidecar doctor, read it too. */}}
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
{{- /* postStart waits for the socket, and not a startup probe: it ends, and the app starts, at the moment that the socket is open,
while a probe runs only once a second. If postStart fails, the container is restarted, as after a failed startup probe. */}}
{{- if $v.startup.waitForRedis }}
{{- /* A day: a restart does not help while Redis is away, and its back-off would delay the app when Redis is back. */}}
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

{{/* Variables that override the configuration file. They are set only if a value requires it, since only the file can be reloaded. */}}
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
