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
    secretName: {{ . | quote }}
{{- end }}
{{- end }}

{{/* The container without what only some pods have: readinessProbe, resources, part of env. */}}
{{- define "coxswain.containerFor" -}}
{{- $v := .root.Values -}}
name: coxswain
image: {{ .pod.image | toJson }}
imagePullPolicy: {{ $v.image.pullPolicy }}
restartPolicy: Always
args: [serve, --config, /etc/coxswain/sidecar.yaml{{ if eq $v.probes.type "exec" }}, "--http", ""{{ end }}]
env:
  {{- include "coxswain.env" .root | nindent 2 }}
{{- if $v.redis.passwordSecret.name }}
  - name: COXSWAIN_REDIS_PASSWORD_FILE
    value: "/etc/coxswain-redis/{{ $v.redis.passwordSecret.key }}"
{{- end }}
{{- $own := dict "COXSWAIN_SOCKET" "socket.path" "COXSWAIN_CONFIG" "existingConfig" "COXSWAIN_HTTP_ADDR" "http.port" "COXSWAIN_TELEMETRY_LOG_LEVEL" "logLevel" "COXSWAIN_READINESS_MODE" "readiness.mode" "COXSWAIN_REDIS_PASSWORD_FILE" "redis.passwordSecret" }}
{{- range $name, $value := $v.env }}
{{- with get $own $name }}
{{- fail (printf "env.%s: the chart sets this variable itself; use %s" $name .) }}
{{- end }}
  - name: {{ $name }}
    value: {{ $value | quote }}
{{- end }}
{{- if eq $v.probes.type "http" }}
ports:
  - name: coxswain-http
    containerPort: {{ .pod.httpPort | toJson }}
    protocol: TCP
{{- end }}
startupProbe:
  {{- include "coxswain.probe" (dict "root" .root "pod" .pod "path" "/startupz" "word" "live") | nindent 2 }}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  {{- include "coxswain.probe" (dict "root" .root "pod" .pod "path" "/livez" "word" "live") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
lifecycle:
  preStop:
    exec:
      command: [/sidecar, drain, --grace, {{ .pod.grace | toJson }}]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  capabilities:
    drop: [ALL]
  seccompProfile:
    type: RuntimeDefault
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
periodSeconds: 2
timeoutSeconds: 2
failureThreshold: 2
{{- end }}

{{/* What variables stand over the configuration file, and only where a value says so: a file can be reloaded. */}}
{{- define "coxswain.ownEnv" -}}
{{- if eq .Values.probes.type "http" }}
- name: COXSWAIN_HTTP_ADDR
  value: ":{{ .Values.http.port }}"
{{- end }}
{{- with .Values.logLevel }}
- name: COXSWAIN_TELEMETRY_LOG_LEVEL
  value: {{ . }}
{{- end }}
{{- if has .Values.readiness.mode (list "redis" "always") }}
- name: COXSWAIN_READINESS_MODE
  value: {{ .Values.readiness.mode }}
{{- end }}
{{- end }}

{{- define "coxswain.resources" -}}
{{- $r := .Values.resources -}}
{{- $limits := dict "memory" $r.limits.memory -}}
{{- with $r.limits.cpu }}{{ $_ := set $limits "cpu" . }}{{ end -}}
{{- dict "limits" $limits "requests" (ternary $limits $r.requests $r.guaranteed) | toYaml -}}
{{- end }}
