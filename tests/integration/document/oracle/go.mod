module firstlight.dev/tests/go-yaml

go 1.26.1

require (
	go.yaml.in/yaml/v4 v4.0.0-rc.4
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.4 // indirect
