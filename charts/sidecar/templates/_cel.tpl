{{/*
The value .v of the pod as a CEL literal of the type .type, such as Object.spec.initContainers. A string that begins with the
byte 1 is a CEL expression and is not quoted.
*/}}
{{- define "coxswain.cel" -}}
{{- $v := .v -}}
{{- $type := .type -}}
{{- if kindIs "map" $v -}}
{{- $fields := list -}}
{{- $deep := false -}}
{{- range $k, $x := $v -}}
{{- $of := ternary $type (printf "%s.%s" $type $k) (kindIs "string" $x) -}}
{{- $fields = append $fields (printf "%s: %s" $k (include "coxswain.cel" (dict "v" $x "type" $of))) -}}
{{- $deep = or $deep (kindIs "map" $x) (kindIs "slice" $x) (gt (len $fields) 4) -}}
{{- end -}}
{{- if $deep -}}
{{- printf "%s{%s\n}" $type (join ",\n" $fields | nindent 2) -}}
{{- else -}}
{{- printf "%s{%s}" $type (join ", " $fields) -}}
{{- end -}}
{{- else if kindIs "slice" $v -}}
{{- $items := list -}}
{{- range $v -}}
{{- $items = append $items (include "coxswain.cel" (dict "v" . "type" $type)) -}}
{{- end -}}
{{- if and (gt (len $items) 1) (kindIs "map" (first $v)) -}}
{{- printf "[%s\n]" (join ",\n" $items | nindent 2) -}}
{{- else -}}
{{- printf "[%s]" (join ", " $items) -}}
{{- end -}}
{{- else if and (kindIs "string" $v) (hasPrefix "\x01" $v) -}}
{{- trimPrefix "\x01" $v -}}
{{- else -}}
{{- toJson $v -}}
{{- end -}}
{{- end }}

{{/* A value of any shape as CEL, for fields without a type of the API: maps such as labels, and lists. */}}
{{- define "coxswain.dyn" -}}
{{- $parts := list -}}
{{- if kindIs "map" . -}}
{{- range $k, $x := . -}}
{{- $parts = append $parts (printf "%s: dyn(%s)" (toJson $k) (include "coxswain.dyn" $x)) -}}
{{- end -}}
{{- printf "{%s}" (join ", " $parts) -}}
{{- else if kindIs "slice" . -}}
{{- range . -}}
{{- $parts = append $parts (printf "dyn(%s)" (include "coxswain.dyn" .)) -}}
{{- end -}}
{{- printf "[%s]" (join ", " $parts) -}}
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end }}

{{/* The value of the annotation coxswain.dev/<the argument> of the pod, or an empty string. */}}
{{- define "coxswain.annotation" -}}
object.metadata.?annotations[?"coxswain.dev/{{ . }}"].orValue("")
{{- end }}
