{{/* One validation of an annotation: its .name, the variable .text with its text, the variable .wrong, and the .remedy. */}}
{{- define "coxswain.annotationValidation" -}}
- expression: '!variables.{{ .wrong }}'
  reason: Invalid
  messageExpression: {{ printf `"metadata.annotations[coxswain.dev/%s]: \"" + variables.%sText + "\" %s"` .name .text .remedy | quote }}
{{- end }}

{{- define "coxswain.knownAnnotations" -}}
{{- $known := list -}}
{{- range list "image-tag" "cpu-request" "memory-request" "cpu-limit" "memory-limit" "config" "log-level" "http-port" "readiness" -}}
{{- $known = append $known (printf "coxswain.dev/%s" . | toJson) -}}
{{- end -}}
{{- join ", " $known -}}
{{- end }}

{{/* The paths of the containers, of both lists, that meet a condition on c. */}}
{{- define "coxswain.where" -}}
object.spec.containers.filter(c, {{ . }}).map(c, "spec.containers[" + c.name + "]")
+ object.spec.?initContainers.orValue([]).filter(c, {{ . }}).map(c, "spec.initContainers[" + c.name + "]")
{{- end }}

{{- define "coxswain.validationVariables" -}}
{{- $dirs := list (dir .Values.socket.path) (printf "%s/" (dir .Values.socket.path)) | toJson -}}
- name: mine
  expression: 'object.spec.?initContainers.orValue([]).filter(c, c.name == "coxswain")'
- name: missing
  expression: '!variables.mine.exists(c, c.?restartPolicy.orValue("") == "Always")'
- name: unknownAnnotations
  expression: |-
    object.metadata.?annotations.orValue({}).filter(k, k.startsWith("coxswain.dev/") && !(k in [{{ include "coxswain.knownAnnotations" . }}, "coxswain.dev/inject", "coxswain.dev/injected-by"]))
- name: portTaken
  expression: |-
    {{- include "coxswain.where" `c.name != "coxswain" && c.?ports.orValue([]).exists(p, p.?protocol.orValue("TCP") == "TCP" && variables.mine.exists(m, m.?ports.orValue([]).exists(own, own.?name.orValue("") == "coxswain-http" && own.containerPort == p.containerPort)))` | nindent 4 }}
- name: longSocket
  expression: |-
    {{- include "coxswain.where" `c.?env.orValue([]).exists(e, e.name == "COXSWAIN_SOCKET" && size(bytes(e.?value.orValue(""))) > 107)` | nindent 4 }}
- name: otherMount
  expression: |-
    {{- include "coxswain.where" (printf `c.?volumeMounts.orValue([]).exists(m, m.mountPath in %s && (m.name != "coxswain" || m.?subPath.orValue("") + m.?subPathExpr.orValue("") != ""))` $dirs) | nindent 4 }}
{{- end }}

{{- define "coxswain.validations" -}}
{{- $quantity := `is not a quantity above zero; write one such as %s, or leave the annotation out` -}}
{{- $memory := `is not an amount of memory from 16Mi up; write one such as %s, or leave the annotation out` -}}
- expression: '!variables.windows'
  reason: Invalid
  message: 'spec: the pod is for Windows, by nodeSelector, affinity or os, and the sidecar runs on Linux only; remove the label coxswain.dev/inject from the pod'
- expression: '!variables.missing'
  reason: Invalid
  messageExpression: |-
    size(variables.mine) > 0 ?
    "spec.initContainers[coxswain]: a container of the pod has the sidecar's name and is not a native sidecar (restartPolicy: Always); rename it" :
    "spec.initContainers: the pod is labelled coxswain.dev/inject and has no sidecar: the policy {{ include "coxswain.clusterName" . }} did not inject it. Check that its binding exists, and that no later webhook removes the sidecar"
{{- $a := "coxswain.annotationValidation" }}
{{ include $a (dict "name" "image-tag" "text" "imageTag" "wrong" "imageTagWrong" "remedy" "is not an image tag; write one such as v1.2.3, without the repository") }}
{{ include $a (dict "name" "cpu-request" "text" "cpuRequest" "wrong" "cpuRequestWrong" "remedy" (printf $quantity "100m")) }}
{{ include $a (dict "name" "memory-request" "text" "memoryRequest" "wrong" "memoryRequestWrong" "remedy" (printf $memory "64Mi")) }}
{{ include $a (dict "name" "cpu-limit" "text" "cpuLimit" "wrong" "cpuLimitWrong" "remedy" (printf $quantity "500m")) }}
{{ include $a (dict "name" "memory-limit" "text" "memoryLimit" "wrong" "memoryLimitWrong" "remedy" (printf $memory "128Mi")) }}
{{- range list "cpu" "memory" }}
- expression: '!variables.{{ . }}Over'
  reason: Invalid
  messageExpression: {{ printf `"metadata.annotations[coxswain.dev/%[1]s-" + (variables.%[1]sRequestText == "" ? "limit" : "request") + "]: the sidecar's request of " + variables.%[1]sRequest + " is more than its limit of " + variables.%[1]sLimit + "; set coxswain.dev/%[1]s-request and coxswain.dev/%[1]s-limit together"` . | quote }}
{{- end }}
{{ include $a (dict "name" "config" "text" "config" "wrong" "configWrong" "remedy" "is not a valid name of a ConfigMap; write the name of one in the pod's namespace that has the key sidecar.yaml") }}
{{ include $a (dict "name" "log-level" "text" "logLevel" "wrong" "logLevelWrong" "remedy" "is not a log level; use debug, info, warn or error") }}
{{ include $a (dict "name" "http-port" "text" "httpPort" "wrong" "httpPortWrong" "remedy" "is not a port; use 1024 to 65535") }}
{{ include $a (dict "name" "readiness" "text" "readiness" "wrong" "readinessWrong" "remedy" "is not a readiness mode; use redis, always or none") }}
- expression: 'size(variables.unknownAnnotations) == 0'
  reason: Invalid
  messageExpression: |-
    "metadata.annotations[" + variables.unknownAnnotations[0] + "]: unknown annotation; known are " + [{{ include "coxswain.knownAnnotations" . }}].join(", ")
- expression: 'size(variables.portTaken) == 0'
  reason: Invalid
  messageExpression: |-
    variables.portTaken[0] + ".ports: the sidecar uses one of these for health and metrics, and the containers of a pod share their ports; choose another port for the sidecar by the annotation coxswain.dev/http-port"
- expression: 'size(variables.longSocket) == 0'
  reason: Invalid
  messageExpression: |-
    variables.longSocket[0] + ".env[COXSWAIN_SOCKET]: the path of a socket has at most 107 bytes; choose a shorter one"
{{- $volumes := include "coxswain.volumes" . | fromYamlArray }}
{{- range $volumes }}
{{- $type := omit . "name" | keys | first }}
- expression: {{ printf `object.spec.?volumes.orValue([]).all(v, v.name != "%s" || has(v.%s))` .name $type | squote }}
  reason: Invalid
  message: 'spec.volumes[{{ .name }}]: the sidecar has a volume of this name, of type {{ $type }}; rename yours'
{{- end }}
- expression: |-
    variables.configText == "" || object.spec.?volumes.orValue([]).all(v, v.name != "coxswain-config" || v.?configMap.?name.orValue("") == variables.configText)
  reason: Invalid
  message: 'metadata.annotations[coxswain.dev/config]: the pod has its own volume coxswain-config, of another ConfigMap; remove the volume or the annotation'
- expression: 'size(variables.otherMount) == 0'
  reason: Invalid
  messageExpression: |-
    variables.otherMount[0] + ".volumeMounts: the sidecar's socket is mounted at {{ dir .Values.socket.path }}; mount your volume elsewhere, and the sidecar's without a subPath"
{{- end }}
