{{- define "apps.labels" -}}
chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
