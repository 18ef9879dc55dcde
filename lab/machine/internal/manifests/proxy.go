package manifests

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/siderolabs/talos/pkg/argsbuilder"
	"github.com/siderolabs/talos/pkg/kubernetes"
	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"sigs.k8s.io/yaml"

	"firstlight.dev/lab/machine/internal/behaviour"
)

// nftablesSince is the version of kube-proxy from which Talos chooses nftables when the config says nothing. Talos 1.14
// knows no older one.
var nftablesSince = semver.MustParse("1.31.0")

// sayProxy is how kube-proxy is to be run: by flags where fields of v1alpha1 say it, by a file where a document does.
func sayProxy(
	spec *k8s.BootstrapManifestsConfigSpec, proxy talosconfig.K8sProxyConfig, does behaviour.Behaviour,
) error {
	mode := proxy.Mode()

	switch {
	case mode != "":
	case does.KubernetesDocuments || kubernetes.VersionGTE(proxy.Image(), nftablesSince):
		mode = "nftables"
	default:
		mode = "iptables"
	}

	pods := strings.Join(spec.PodCIDRs, ",")

	if !proxy.UseConfigFile() {
		args := argsbuilder.Args{
			"cluster-cidr":           {pods},
			"conntrack-max-per-core": {"0"},
			"hostname-override":      {"$(NODE_NAME)"},
			"kubeconfig":             {"/etc/kubernetes/kubeconfig"},
			"proxy-mode":             {mode},
		}

		return addFlags(spec, args, proxy, "kubeconfig")
	}

	file, err := proxyFile(proxy.Config(), pods, mode)
	if err != nil {
		return err
	}

	text, err := yaml.Marshal(file)
	if err != nil {
		return err
	}

	spec.ProxyConfig, spec.ProxyConfigChecksum = file, fmt.Sprintf("%x", sha256.Sum256(text))

	args := argsbuilder.Args{"config": {"/var/lib/kube-proxy/config.conf"}, "hostname-override": {"$(NODE_NAME)"}}

	return addFlags(spec, args, proxy, "config")
}

// addFlags adds the config's flags to Talos's own, of which one cannot be changed.
func addFlags(
	spec *k8s.BootstrapManifestsConfigSpec, args argsbuilder.Args, proxy talosconfig.K8sProxyConfig, fixed string,
) error {
	policies := argsbuilder.MergePolicies{fixed: argsbuilder.MergeDenied}
	if err := args.Merge(proxy.ExtraArgs(), argsbuilder.WithMergePolicies(policies)); err != nil {
		return err
	}

	spec.ProxyArgs = args.Args()

	return nil
}

// proxyFile is kube-proxy's own config: what the document says, and Talos's settings where it says nothing.
func proxyFile(own map[string]any, pods, mode string) (map[string]any, error) {
	file, err := plain(own)
	if err != nil {
		return nil, err
	}

	file["apiVersion"], file["kind"] = "kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"

	section(file, "clientConnection")["kubeconfig"] = "/etc/kubernetes/kubeconfig"

	for _, setting := range []struct {
		in    map[string]any
		key   string
		value any
	}{
		{file, "clusterCIDR", pods}, {file, "mode", mode}, {section(file, "conntrack"), "maxPerCore", 0},
	} {
		if _, said := setting.in[setting.key]; !said {
			setting.in[setting.key] = setting.value
		}
	}

	return file, nil
}

func section(file map[string]any, name string) map[string]any {
	found, ok := file[name].(map[string]any)
	if !ok {
		found = map[string]any{}
		file[name] = found
	}

	return found
}

// plain turns values of any types into those that a resource can carry.
func plain(value map[string]any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}

	out := map[string]any{}
	if value == nil {
		return out, nil
	}

	return out, json.Unmarshal(text, &out)
}
