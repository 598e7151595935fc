{{/* The CEL of the policies. */}}

{{- define "coxswain.checkVersion" -}}
{{- if not (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "injection.enabled: the policies need Kubernetes 1.36 or later, and this is %s; set injection.enabled=false and use the named templates (README.md)" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end }}

{{/* Both policies match the same pods, in the namespaces of their bindings. */}}
{{- define "coxswain.matchConstraints" -}}
objectSelector:
  matchLabels:
    coxswain.dev/inject: "true"
resourceRules:
  - apiGroups: [""]
    apiVersions: [v1]
    operations: [CREATE]
    resources: [pods]
    # The server's default: a list that differs from the server's would be applied again each time.
    scope: "*"
{{- end }}

{{- define "coxswain.matchResources" -}}
namespaceSelector:
{{- if .Values.injection.namespaceSelector }}
  {{- toYaml .Values.injection.namespaceSelector | nindent 2 }}
{{- else }}
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: In
      values: {{ include "coxswain.namespaces" . }}
{{- end }}
{{- end }}

{{/*
The variables of each annotation: its text (...Text), whether that is wrong (...Wrong), and the value to use, which is the
chart's where the annotation is absent or wrong. With a wrong value the API server's own checks, which run between the two
policies, would refuse the pod with a less clear text than the validating policy.
*/}}
{{- define "coxswain.variables" -}}
{{- $v := .Values -}}
{{- $r := $v.resources -}}
{{- range $i, $annotation := list (list "imageTag" "image-tag") (list "cpuRequest" "cpu-request") (list "memoryRequest" "memory-request") (list "cpuLimit" "cpu-limit") (list "memoryLimit" "memory-limit") (list "config" "config") (list "logLevel" "log-level") (list "httpPort" "http-port") (list "readiness" "readiness") -}}
{{- if $i }}{{ "\n" }}{{ end -}}
- name: {{ index $annotation 0 }}Text
  expression: {{ include "coxswain.annotation" (index $annotation 1) | squote }}
{{- end }}
- name: windows
  expression: |-
    object.spec.?nodeSelector[?"kubernetes.io/os"].orValue("") == "windows" || object.spec.?os.?name.orValue("") == "windows" ||
    object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([]).exists(t,
      t.?matchExpressions.orValue([]).exists(e, e.key == "kubernetes.io/os" && e.operator == "In" && e.?values.orValue([]) == ["windows"]))
- name: graceSeconds
  expression: 'object.spec.?terminationGracePeriodSeconds.orValue(30)'
- name: grace
  expression: {{ `(variables.graceSeconds < 1 ? "1" : variables.graceSeconds > 86400 ? "86400" : string(variables.graceSeconds)) + "s"` | squote }}
- name: imageTagWrong
  expression: {{ `variables.imageTagText != "" && !variables.imageTagText.matches("^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$")` | squote }}
- name: image
{{- if $v.image.digest }}
  expression: {{ include "coxswain.image" . | toJson | squote }}
{{- else }}
  expression: {{ printf `%s + (variables.imageTagText == "" || variables.imageTagWrong ? %s : variables.imageTagText)` (printf "%s:" (include "coxswain.repository" .) | toJson) ($v.image.tag | default .Chart.AppVersion | toJson) | squote }}
{{- end }}
{{- range list (list "cpuLimit" $r.limits.cpu) (list "memoryLimit" $r.limits.memory) (list "cpuRequest" $r.requests.cpu) (list "memoryRequest" $r.requests.memory) }}
{{- $name := index . 0 }}
- name: {{ $name }}Wrong
  expression: {{ printf `variables.%[1]sText != "" && !(isQuantity(variables.%[1]sText) && quantity(variables.%[1]sText).compareTo(quantity("%[2]s")) >= 0)` $name (ternary "16Mi" "1m" (hasPrefix "memory" $name)) | squote }}
- name: {{ $name }}
  expression: {{ printf `variables.%[1]sText == "" || variables.%[1]sWrong ? %[2]s : variables.%[1]sText` $name (toJson (index . 1)) | squote }}
{{- end }}
- name: cpuOver
  expression: {{ ternary "false" `variables.cpuLimit != "" && quantity(variables.cpuRequest).isGreaterThan(quantity(variables.cpuLimit))` $r.guaranteed | squote }}
- name: memoryOver
  expression: {{ ternary "false" `quantity(variables.memoryRequest).isGreaterThan(quantity(variables.memoryLimit))` $r.guaranteed | squote }}
- name: limits
  expression: {{ `variables.cpuLimit == "" ? {"memory": variables.memoryLimit} : {"cpu": variables.cpuLimit, "memory": variables.memoryLimit}` | squote }}
- name: requests
{{- if $r.guaranteed }}
  expression: variables.limits
{{- else }}
  expression: {{ `{"cpu": variables.cpuOver ? variables.cpuLimit : variables.cpuRequest, "memory": variables.memoryOver ? variables.memoryLimit : variables.memoryRequest}` | squote }}
{{- end }}
- name: configWrong
  expression: {{ `variables.configText != "" && format.dns1123Subdomain().validate(variables.configText).hasValue()` | squote }}
- name: config
  expression: {{ printf `variables.configText == "" || variables.configWrong ? %s : variables.configText` (include "coxswain.configName" . | toJson) | squote }}
- name: logLevelWrong
  expression: {{ `!(variables.logLevelText in ["", "debug", "info", "warn", "error"])` | squote }}
- name: logLevel
  expression: {{ printf `variables.logLevelText == "" || variables.logLevelWrong ? %s : variables.logLevelText` (toJson $v.logLevel) | squote }}
- name: httpPortWrong
  expression: {{ `variables.httpPortText != "" && !(variables.httpPortText.matches("^[1-9][0-9]{3,4}$") && int(variables.httpPortText) >= 1024 && int(variables.httpPortText) <= 65535)` | squote }}
- name: httpPort
  expression: {{ printf `variables.httpPortText == "" || variables.httpPortWrong ? %d : int(variables.httpPortText)` (int $v.http.port) | squote }}
- name: readinessWrong
  expression: {{ `!(variables.readinessText in ["", "redis", "always", "none"])` | squote }}
- name: readiness
  expression: {{ printf `variables.readinessText == "" || variables.readinessWrong ? %s : variables.readinessText` (toJson $v.readiness.mode) | squote }}
{{- end }}

{{/*
True for a pod that is left as it is: one that has the sidecar already, from the named templates, say, and one for Windows,
which the validating policy refuses. A sidecar of this policy itself may be completed when the policy is invoked again.
*/}}
{{- define "coxswain.left" -}}
(variables.windows || object.spec.?initContainers.orValue([]).exists(i, i.name == "coxswain") && {{ include "coxswain.annotation" "injected-by" }} != {{ include "coxswain.clusterName" . | toJson }})
{{- end }}

{{/* The variable and the mount for the other containers of .list, which has the type .type. The guards are here and not in matchConditions, so that a container that a later policy adds still gets its mount. */}}
{{- define "coxswain.mutatedContainers" -}}
{{- $env := index (include "coxswain.env" .root | fromYamlArray) 0 -}}
{{- $mount := index (include "coxswain.volumeMounts" .root | fromYamlArray) 0 -}}
{{ .list }}.filter(c, c.name != "coxswain" && !{{ include "coxswain.left" .root }}).map(c, {{ .type }}{
  name: c.name,
  env: c.?env.orValue([]).exists(e, e.name == {{ toJson $env.name }}) ? [] :
    [{{ include "coxswain.cel" (dict "v" $env "type" (printf "%s.env" .type)) }}],
  volumeMounts: c.?volumeMounts.orValue([]).exists(m, m.mountPath in [{{ toJson $mount.mountPath }}, {{ printf "%s/" $mount.mountPath | toJson }}]) ? [] :
    [{{ include "coxswain.cel" (dict "v" $mount "type" (printf "%s.volumeMounts" .type)) }}]
})
{{- end }}

{{/* The volumes, and the variable and the mount of every container of the app. */}}
{{- define "coxswain.applyConfiguration" -}}
{{- $volumes := include "coxswain.volumesFor" (dict "root" . "config" "\x01variables.config") | fromYamlArray -}}
Object{spec: Object.spec{
  volumes: {{ include "coxswain.left" . }} ? [] : [
{{- range $i, $volume := $volumes }}
    {{- if $i }},{{ end }}
    {{ include "coxswain.cel" (dict "v" $volume "type" "Object.spec.volumes") }}
{{- end }}
  ].filter(v, !object.spec.?volumes.orValue([]).exists(own, own.name == v.name)),
  containers: {{ include "coxswain.mutatedContainers" (dict "root" . "list" "object.spec.containers" "type" "Object.spec.containers") | nindent 2 | trim }},
  initContainers: {{ include "coxswain.mutatedContainers" (dict "root" . "list" "object.spec.?initContainers.orValue([])" "type" "Object.spec.initContainers") | nindent 2 | trim }}
}}
{{- end }}

{{/* The sidecar, first among the init containers, and its group. ApplyConfiguration cannot set lists such as args and command. */}}
{{- define "coxswain.jsonPatch" -}}
{{- $pod := dict "image" "\x01variables.image" "httpPort" "\x01variables.httpPort" "grace" "\x01variables.grace" -}}
{{- $c := include "coxswain.containerFor" (dict "root" . "pod" $pod) | fromYaml -}}
{{- $type := "Object.spec.initContainers" -}}
{{- $base := include "coxswain.cel" (dict "v" $c.env "type" (printf "%s.env" $type)) -}}
{{- $env := printf "%s.env" $type -}}
{{- $addr := ternary (printf `[%s{name: "COXSWAIN_HTTP_ADDR", value: ":" + string(variables.httpPort)}]` $env) "[]" (eq .Values.probes.type "http") -}}
{{- $own := printf `%s
  + %s
  + (variables.logLevel == "" ? [] : [%s{name: "COXSWAIN_TELEMETRY_LOG_LEVEL", value: variables.logLevel}])
  + (variables.readiness in ["redis", "always"] ? [%s{name: "COXSWAIN_READINESS_MODE", value: variables.readiness}] : [])` $base $addr $env $env -}}
{{- $_ := set $c "env" (printf "\x01%s" $own) -}}
{{- $_ := set $c "resources" (dict "limits" "\x01variables.limits" "requests" "\x01variables.requests") -}}
{{- $probe := include "coxswain.cel" (dict "v" (include "coxswain.readinessProbe" (dict "root" . "pod" $pod) | fromYaml) "type" (printf "%s.readinessProbe" $type)) -}}
{{- $_ := set $c "?readinessProbe" (printf "\x01variables.readiness == \"none\" ? optional.none() : optional.of(%s)" $probe) -}}
variables.windows || object.spec.?initContainers.orValue([]).exists(c, c.name == "coxswain") ? [] : (
  (has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}])
  + [JSONPatch{op: "add", path: "/metadata/annotations/coxswain.dev~1injected-by", value: {{ include "coxswain.clusterName" . | toJson }}}]
  + (has(object.spec.initContainers) ? [] : [JSONPatch{op: "add", path: "/spec/initContainers", value: []}])
  + [JSONPatch{op: "add", path: "/spec/initContainers/0", value: {{ include "coxswain.cel" (dict "v" $c "type" $type) }}}]
{{- range .Values.extraVolumes }}
  + (object.spec.?volumes.orValue([]).exists(v, v.name == {{ toJson .name }}) ? [] :
    [JSONPatch{op: "add", path: "/spec/volumes/-", value: {{ include "coxswain.dyn" . }}}])
{{- end }}
{{- with .Values.user.gid }}
  + (has(object.spec.securityContext) ? [] : [JSONPatch{op: "add", path: "/spec/securityContext", value: Object.spec.securityContext{}}])
  + (object.spec.?securityContext.?supplementalGroups.hasValue() ? [] :
    [JSONPatch{op: "add", path: "/spec/securityContext/supplementalGroups", value: []}])
  + ({{ int64 . }} in object.spec.?securityContext.?supplementalGroups.orValue([]) ? [] :
    [JSONPatch{op: "add", path: "/spec/securityContext/supplementalGroups/-", value: {{ int64 . }}}])
{{- end }}
)
{{- end }}
