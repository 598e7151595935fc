{{/* Names and labels. */}}

{{/* .Chart.Name is the alias if the chart is a dependency under one, so that two aliases in a release have different names. */}}
{{- define "coxswain.fullname" -}}
{{- .Values.fullnameOverride | default (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- end }}

{{/* Name of cluster-scoped objects. A namespace and fullnameOverride have no dot, so no two releases have the same name. */}}
{{- define "coxswain.clusterName" -}}
{{- if .Values.fullnameOverride -}}
{{- printf "%s.%s" .Release.Namespace .Values.fullnameOverride -}}
{{- else -}}
{{- printf "%s.%s.%s" .Release.Namespace .Release.Name .Chart.Name -}}
{{- end -}}
{{- end }}

{{/* The chart's own labels override the user's: another release finds this one by the label part-of (coxswain.checkOthers). */}}
{{- define "coxswain.labels" -}}
{{- $own := dict
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_")
  "app.kubernetes.io/name" "sidecar"
  "app.kubernetes.io/instance" .Release.Name
  "app.kubernetes.io/version" .Chart.AppVersion
  "app.kubernetes.io/managed-by" .Release.Service
  "app.kubernetes.io/part-of" "coxswain" -}}
{{- merge $own .Values.commonLabels | toYaml -}}
{{- end }}

{{/* The namespaces whose pods are injected, as a JSON list. */}}
{{- define "coxswain.namespaces" -}}
{{- .Values.injection.namespaces | default (list .Release.Namespace) | toJson -}}
{{- end }}

{{- define "coxswain.configName" -}}
{{- .Values.existingConfig | default (printf "%s-config" (include "coxswain.fullname" .)) -}}
{{- end }}

{{- define "coxswain.repository" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository -}}
{{- end }}

{{- define "coxswain.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" (include "coxswain.repository" .) .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" (include "coxswain.repository" .) (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}
