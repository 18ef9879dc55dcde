package resources

import (
	"fmt"
	"net/netip"
	"slices"

	sideronet "github.com/siderolabs/net"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// node is what the Node should have, and what Kubernetes says about it.
func node(f *facts) ([]owned, error) {
	var out []owned

	if f.nodeStatus != nil {
		out = append(out, of("k8s.NodeStatusController",
			k8s.NewNodeStatus(k8s.NamespaceName, f.nodeStatus.Nodename), *f.nodeStatus))
	}

	if f.active == nil {
		return out, nil
	}

	for key, value := range NodeLabels(f.active, f.extensions...) {
		out = append(out, of("k8s.NodeLabelSpecController", k8s.NewNodeLabelSpec(key),
			k8s.NodeLabelSpecSpec{Key: key, Value: value}))
	}

	for key, value := range NodeAnnotations(f.active, f.extensions...) {
		out = append(out, of("k8s.NodeAnnotationSpecController", k8s.NewNodeAnnotationSpec(key),
			k8s.NodeAnnotationSpecSpec{Key: key, Value: value}))
	}

	for _, t := range NodeTaints(f.active) {
		out = append(out, of("k8s.NodeTaintSpecController", k8s.NewNodeTaintSpec(t.Key),
			k8s.NodeTaintSpecSpec{Key: t.Key, Effect: t.Effect, Value: t.Value}))
	}

	if !f.configured() || f.active.K8sNetworkConfig() == nil || f.active.K8sNodeConfig() == nil {
		return out, nil
	}

	limits := nodeIPConfig(f.active)
	out = append(out, of("k8s.NodeIPConfigController", k8s.NewNodeIPConfig(k8s.NamespaceName, k8s.KubeletID), limits))

	ips, err := f.nodeIPs(limits)
	if err != nil || len(ips) == 0 {
		return out, err
	}

	return append(out, of("k8s.NodeIPController", k8s.NewNodeIP(k8s.NamespaceName, k8s.KubeletID),
		k8s.NodeIPSpec{Addresses: ips})), nil
}

func nodeIPConfig(cfg config.Config) k8s.NodeIPConfigSpec {
	network := cfg.K8sNetworkConfig()

	spec := k8s.NodeIPConfigSpec{
		ValidSubnets: cfg.K8sNodeConfig().NodeIP().ValidSubnets(),
		ExcludeSubnets: slices.Concat(
			Prefixes(network.PodCIDRs()), Prefixes(network.ServiceCIDRs()), virtualIPs(cfg)),
	}

	if len(spec.ValidSubnets) > 0 {
		return spec
	}

	// The families of the services' networks are those of the nodes.
	for _, network := range network.ServiceCIDRs() {
		if network.Addr().Is6() {
			spec.ValidSubnets = append(spec.ValidSubnets, "::/0")
		} else {
			spec.ValidSubnets = append(spec.ValidSubnets, "0.0.0.0/0")
		}
	}

	return spec
}

// virtualIPs move between machines and are never a node's own.
func virtualIPs(cfg config.Config) []string {
	var out []string

	for _, device := range cfg.Machine().Network().Devices() {
		if vip := device.VIPConfig(); vip != nil {
			out = append(out, vip.IP())
		}

		for _, vlan := range device.Vlans() {
			if vip := vlan.VIPConfig(); vip != nil {
				out = append(out, vip.IP())
			}
		}
	}

	for _, document := range cfg.NetworkVirtualIPConfigs() {
		out = append(out, document.VIP().String())
	}

	return out
}

// nodeIPs are the addresses that the kubelet is given.
func (f *facts) nodeIPs(limits k8s.NodeIPConfigSpec) ([]netip.Addr, error) {
	rules := slices.Clone(limits.ValidSubnets)
	for _, subnet := range limits.ExcludeSubnets {
		rules = append(rules, "!"+subnet)
	}

	ips, err := sideronet.FilterIPs(f.clusterAddresses(), rules)
	if err != nil {
		return nil, fmt.Errorf("error filtering IPs: %w", err)
	}

	return ips, nil
}
