package manifests

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"text/template"

	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"sigs.k8s.io/yaml"

	"firstlight.dev/lab/machine/internal/behaviour"
)

// One file for each manifest, named after its ID.
//
//go:embed builtin/*.yaml
var builtinFiles embed.FS

var builtinTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"json":         asJSON,
	"line":         asLine,
	"requirements": requirements,
	"memoryLimit":  memoryLimit,
}).ParseFS(builtinFiles, "builtin/*.yaml"))

// builtinIDs are Talos's own manifests, and when a machine has them.
var builtinIDs = []struct {
	id   string
	when func(*k8s.BootstrapManifestsConfigSpec) bool
}{
	{"00-kubelet-bootstrapping-token", always},
	{"01-csr-approver-role-binding", always},
	{"01-csr-node-bootstrap", always},
	{"01-csr-renewal-role-binding", always},
	{"05-flannel", func(spec *k8s.BootstrapManifestsConfigSpec) bool { return spec.FlannelEnabled }},
	{"10-kube-proxy", func(spec *k8s.BootstrapManifestsConfigSpec) bool { return spec.ProxyEnabled }},
	{"11-core-dns", func(spec *k8s.BootstrapManifestsConfigSpec) bool { return spec.CoreDNSEnabled }},
	{"11-core-dns-svc", func(spec *k8s.BootstrapManifestsConfigSpec) bool { return spec.CoreDNSEnabled }},
	{"11-kube-config-in-cluster", always},
	{"11-talos-node-rbac-template", always},
	{"13-talos-service-account-crd", func(spec *k8s.BootstrapManifestsConfigSpec) bool { return spec.TalosAPIServiceEnabled }},
}

func always(*k8s.BootstrapManifestsConfigSpec) bool { return true }

// token is the bootstrap token of the cluster.
type token interface {
	ID() string
	Secret() string
}

func builtin(spec k8s.BootstrapManifestsConfigSpec, does behaviour.Behaviour, bootstrap token) ([]Manifest, error) {
	network, err := flannelNetwork(spec, does.FlannelByNFTables)
	if err != nil {
		return nil, err
	}

	proxy, err := yaml.Marshal(spec.ProxyConfig)
	if err != nil {
		return nil, err
	}

	values := struct {
		k8s.BootstrapManifestsConfigSpec

		// Requires says that Talos's pods name their resources, and the machines that they can run on.
		Requires bool

		TokenID, TokenSecret, FlannelNetwork, ProxyFile, ProxyConfigMap string
	}{
		spec, does.KubernetesDocuments, bootstrap.ID(), bootstrap.Secret(), network, string(proxy),
		"kube-proxy-config-" + spec.ProxyConfigChecksum[:min(len(spec.ProxyConfigChecksum), 16)],
	}

	var manifests []Manifest

	for _, each := range builtinIDs {
		if !each.when(&spec) {
			continue
		}

		var text bytes.Buffer

		if err := builtinTemplates.ExecuteTemplate(&text, each.id+".yaml", values); err != nil {
			return nil, fmt.Errorf("manifest %s: %w", each.id, err)
		}

		objects, err := parse(text.Bytes())
		if err != nil {
			return nil, fmt.Errorf("manifest %s: %w", each.id, err)
		}

		manifests = append(manifests, Manifest{ID: each.id, Objects: objects})
	}

	return manifests, nil
}

// flannelNetwork is flannel's net-conf.json: the last CIDR of each family counts.
func flannelNetwork(spec k8s.BootstrapManifestsConfigSpec, nftables bool) (string, error) {
	type networkConf struct {
		Network        string         `json:"Network,omitempty"`
		IPv6Network    string         `json:"IPv6Network,omitempty"`
		EnableIPv6     *bool          `json:"EnableIPv6,omitempty"`
		EnableIPv4     *bool          `json:"EnableIPv4,omitempty"`
		EnableNFTables *bool          `json:"EnableNFTables,omitempty"`
		Backend        map[string]any `json:"Backend"`
	}

	conf := networkConf{Backend: map[string]any{"Type": spec.FlannelBackendType}}
	on, off := true, false

	if nftables {
		conf.EnableNFTables = &on
	}

	if spec.FlannelBackendPort != 0 {
		conf.Backend["Port"] = spec.FlannelBackendPort
	}

	if spec.FlannelBackendMTU != 0 {
		conf.Backend["MTU"] = spec.FlannelBackendMTU
	}

	maps.Copy(conf.Backend, spec.FlannelBackendExtraConfig)

	for _, cidr := range spec.PodCIDRs {
		if strings.Contains(cidr, ".") {
			conf.Network = cidr
		} else {
			conf.IPv6Network, conf.EnableIPv6 = cidr, &on
		}
	}

	if conf.Network == "" {
		conf.EnableIPv4 = &off
	}

	text, err := json.MarshalIndent(conf, "", "  ")

	return string(text), err
}

// asJSON quotes a value of the config, so that nothing in it can change the shape of a manifest.
func asJSON(value any) (string, error) {
	text, err := json.Marshal(value)

	return string(text), err
}

// asLine passes a value that stands inside a block of text.
func asLine(value string) (string, error) {
	if strings.ContainsAny(value, "\r\n") {
		return "", errors.New("a value of the config has more than one line")
	}

	return value, nil
}
