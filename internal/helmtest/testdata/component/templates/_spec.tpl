{{- define "component.spec" -}}
securityContext:
  supplementalGroups: [65532]
initContainers:
  {{- include "coxswain.container" .Subcharts.sidecar | nindent 2 }}
containers:
  - name: crawler
    env:
      {{- include "coxswain.env" .Subcharts.sidecar | nindent 6 }}
    volumeMounts:
      {{- include "coxswain.volumeMounts" .Subcharts.sidecar | nindent 6 }}
volumes:
  {{- include "coxswain.volumes" .Subcharts.sidecar | nindent 2 }}
{{- end }}
