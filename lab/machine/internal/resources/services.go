package resources

import (
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"
)

// services are those that run.
func services(f *facts) ([]owned, error) {
	var out []owned

	for id, spec := range f.services {
		out = append(out, of("v1alpha1.ServiceController", v1alpha1.NewService(id), spec))
	}

	return out, nil
}
