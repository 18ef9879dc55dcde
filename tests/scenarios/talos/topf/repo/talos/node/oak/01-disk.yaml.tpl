machine:
  install:
    disk: {{ .Node.Data.disk }}
{{ if eq .Node.Role "worker" }}
  nodeLabels:
    wrong: branch
{{ else if eq .Node.Role "control-plane" }}
  nodeTaints:
    taken: "true"
{{ end }}
