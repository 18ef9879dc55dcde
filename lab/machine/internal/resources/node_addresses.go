package resources

import (
	"net/netip"
	"slices"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
)

// nodeAddresses are the addresses by which the machine is reached, whole and without those that belong to Kubernetes.
func nodeAddresses(f *facts) ([]owned, error) {
	algorithm := nethelpers.AddressSortAlgorithmV1
	if f.configured() {
		algorithm = f.active.Machine().Features().NodeAddressSortAlgorithm()
	}

	const owner = "network.NodeAddressController"

	out := []owned{
		of("network.NodeAddressSortAlgorithmController",
			network.NewNodeAddressSortAlgorithm(network.NamespaceName, network.NodeAddressSortAlgorithmID),
			network.NodeAddressSortAlgorithmSpec{Algorithm: algorithm}),
	}

	set := func(id resource.ID, list []netip.Prefix) {
		out = append(out, of(owner, network.NewNodeAddress(network.NamespaceName, id),
			network.NodeAddressSpec{Addresses: list, SortAlgorithm: algorithm}))
	}

	all := f.routed()
	if len(all) > 0 {
		set(network.NodeAddressDefaultID, all[:1])
	}

	kinds := []resource.ID{network.NodeAddressCurrentID, network.NodeAddressRoutedID, network.NodeAddressAccumulativeID}
	for _, kind := range kinds {
		set(kind, all)
	}

	if !f.configured() {
		return out, nil
	}

	subnets := kubernetesSubnets(f.active)
	if f.nodeStatus != nil {
		subnets = slices.Concat(subnets, f.nodeStatus.PodCIDRs)
	}

	for _, kind := range kinds {
		set(network.FilteredNodeAddressID(kind, k8s.NodeAddressFilterNoK8s), without(all, subnets))
		set(network.FilteredNodeAddressID(kind, k8s.NodeAddressFilterOnlyK8s), within(all, subnets))
	}

	const filterOwner = "k8s.AddressFilterController"

	return append(out,
		of(filterOwner, network.NewNodeAddressFilter(network.NamespaceName, k8s.NodeAddressFilterNoK8s),
			network.NodeAddressFilterSpec{ExcludeSubnets: subnets}),
		of(filterOwner, network.NewNodeAddressFilter(network.NamespaceName, k8s.NodeAddressFilterOnlyK8s),
			network.NodeAddressFilterSpec{IncludeSubnets: subnets}),
	), nil
}

// routed are the addresses on links that are up.
func (f *facts) routed() []netip.Prefix {
	if address := f.address(); address.IsValid() {
		return []netip.Prefix{address}
	}

	return nil
}

// clusterAddresses are those that are not Kubernetes's own: what the machine tells other machines.
func (f *facts) clusterAddresses() []netip.Addr {
	prefixes := f.routed()

	if f.configured() {
		prefixes = without(prefixes, kubernetesSubnets(f.active))
	}

	var out []netip.Addr
	for _, p := range prefixes {
		out = append(out, p.Addr())
	}

	return out
}

// kubernetesSubnets are the networks of pods and services.
func kubernetesSubnets(cfg config.Config) []netip.Prefix {
	network := cfg.K8sNetworkConfig()
	if network == nil {
		return nil
	}

	return slices.Concat(network.PodCIDRs(), network.ServiceCIDRs())
}

func within(list, subnets []netip.Prefix) []netip.Prefix {
	return pick(list, subnets, true)
}

func without(list, subnets []netip.Prefix) []netip.Prefix {
	return pick(list, subnets, false)
}

func pick(list, subnets []netip.Prefix, inside bool) []netip.Prefix {
	out := []netip.Prefix{}

	for _, p := range list {
		if slices.ContainsFunc(subnets, func(s netip.Prefix) bool { return s.Contains(p.Addr()) }) == inside {
			out = append(out, p)
		}
	}

	return out
}
