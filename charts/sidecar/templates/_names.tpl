{{/* Names and labels. */}}

{{/* The chart's name is its alias where it is a dependency under one, so two aliases of a release have names of their own. */}}
{{- define "coxswain.fullname" -}}
{{- .Values.fullnameOverride | default (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- end }}

{{/* Of cluster-scoped objects. A namespace and fullnameOverride have no dot, so no two releases share one. */}}
{{- define "coxswain.clusterName" -}}
{{- if .Values.fullnameOverride -}}
{{- printf "%s.%s" .Release.Namespace .Values.fullnameOverride -}}
{{- else -}}
{{- printf "%s.%s.%s" .Release.Namespace .Release.Name .Chart.Name -}}
{{- end -}}
{{- end }}

{{/* The chart's own stand over the user's: part-of is by what another release finds this one (coxswain.checkOthers). */}}
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

{{/* The namespaces that are injected, as a JSON list. */}}
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
