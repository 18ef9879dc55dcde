package resources

import (
	"maps"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/kernel"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// defaultParameters are some of those that Talos always sets.
var defaultParameters = map[string]string{
	"proc.sys.net.ipv4.ip_forward":                "1",
	"proc.sys.net.ipv6.conf.default.forwarding":   "1",
	"proc.sys.net.ipv6.conf.default.accept_ra":    "2",
	"proc.sys.kernel.panic":                       "10",
	"proc.sys.kernel.pid_max":                     "262144",
	"proc.sys.vm.overcommit_memory":               "1",
	"proc.sys.net.bridge.bridge-nf-call-iptables": "1",
}

// kernelParameters are Talos's defaults and what the config adds.
func kernelParameters(f *facts) ([]owned, error) {
	var out []owned

	values := maps.Clone(defaultParameters)

	for _, id := range slices.Sorted(maps.Keys(defaultParameters)) {
		out = append(out, of("runtime.KernelParamDefaultsController",
			runtime.NewKernelParamDefaultSpec(runtime.NamespaceName, id),
			runtime.KernelParamDefaultSpecSpec{Value: defaultParameters[id]}))
	}

	if f.active != nil && f.active.Machine() != nil {
		set := func(kind string, wanted map[string]string) {
			for name, value := range wanted {
				id := kind + "." + name
				values[id] = value
				out = append(out, of("runtime.KernelParamConfigController",
					runtime.NewKernelParamSpec(runtime.NamespaceName, id), runtime.KernelParamSpecSpec{Value: value}))
			}
		}

		set(kernel.Sysctl, f.active.Machine().Sysctls())
		set(kernel.Sysfs, f.active.Machine().Sysfs())
	}

	for id, value := range values {
		out = append(out, of("runtime.KernelParamSpecController", runtime.NewKernelParamStatus(runtime.NamespaceName, id),
			runtime.KernelParamStatusSpec{Current: value, Default: defaultParameters[id]}))
	}

	return out, nil
}
