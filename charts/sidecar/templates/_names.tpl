{{/* Names and labels. */}}

{{- define "coxswain.fullname" -}}
{{- printf "%s-sidecar" .Release.Name -}}
{{- end }}

{{/* Of cluster-scoped objects. A namespace has no dot, so no two releases share one. */}}
{{- define "coxswain.clusterName" -}}
{{- printf "%s.%s.sidecar" .Release.Namespace .Release.Name -}}
{{- end }}

{{- define "coxswain.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: sidecar
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: coxswain
{{- end }}

{{/* The namespaces that are injected, as a JSON list. */}}
{{- define "coxswain.namespaces" -}}
{{- .Values.injection.namespaces | default (list .Release.Namespace) | toJson -}}
{{- end }}

{{- define "coxswain.configName" -}}
{{- .Values.existingConfig | default (printf "%s-config" (include "coxswain.fullname" .)) -}}
{{- end }}

{{- define "coxswain.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}
