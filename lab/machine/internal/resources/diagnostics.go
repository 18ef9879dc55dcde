package resources

import (
	"fmt"
	"maps"

	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// diagnostics are the warnings that were set, and the one that Talos finds by itself in addresses and config.
func diagnostics(f *facts) ([]owned, error) {
	warnings := maps.Clone(f.diagnostics)

	if warning, overlap := addressOverlap(f); overlap {
		warnings["address-overlap"] = warning
	}

	var out []owned
	for id, warning := range warnings {
		out = append(out, of("runtime.DiagnosticsController", runtime.NewDiagnostic(runtime.NamespaceName, id), warning))
	}

	return out, nil
}

// addressOverlap is a machine all of whose addresses are in the networks of pods and services. Talos says so after half
// a minute, here it is said at once.
func addressOverlap(f *facts) (runtime.DiagnosticSpec, bool) {
	addresses := f.routed()
	if !f.configured() || f.active.K8sNetworkConfig() == nil || len(addresses) == 0 || len(f.clusterAddresses()) > 0 {
		return runtime.DiagnosticSpec{}, false
	}

	var text []string
	for _, a := range addresses {
		text = append(text, a.String())
	}

	return runtime.DiagnosticSpec{
		Message: "host and Kubernetes pod/service CIDR addresses overlap",
		Details: []string{
			fmt.Sprintf("host routed addresses: %q", text),
			fmt.Sprintf("Kubernetes pod CIDRs: %q", Prefixes(f.active.K8sNetworkConfig().PodCIDRs())),
			fmt.Sprintf("Kubernetes service CIDRs: %q", Prefixes(f.active.K8sNetworkConfig().ServiceCIDRs())),
		},
	}, true
}
