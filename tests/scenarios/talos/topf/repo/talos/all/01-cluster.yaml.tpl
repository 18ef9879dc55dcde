cluster:
  network:
    cni:
      name: none
    dnsDomain: {{ .Data.region }}.example.org
    podSubnets:
      - 10.1.0.0/16
  {{- if env "MIRROR" }}
  discovery:
    enabled: false
  {{- else }}
  proxy:
    disabled: false
  {{- end }}
  apiServer:
    image: registry.k8s.io/kube-apiserver:v{{ .KubernetesVersion }}
    extraArgs:
      token: {{ .Data.token }}
{{- range .Data.extra }}
      more: {{ . }}
{{- end }}
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: {{ .Node.Host }}
