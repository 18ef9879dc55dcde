package manifests

import (
	"fmt"
	"strconv"

	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// Requests of kube-proxy and Flannel where the config says nothing.
const (
	defaultCPU    = "100m"
	defaultMemory = "50Mi"
)

// resourcesOf are the requests and limits of a config.
func resourcesOf(said talosconfig.Resources) k8s.Resources {
	out := k8s.Resources{Requests: map[string]string{"cpu": said.CPURequests(), "memory": said.MemoryRequests()}}

	for name, limit := range map[string]string{"cpu": said.CPULimits(), "memory": said.MemoryLimits()} {
		if limit == "" {
			continue
		}

		if out.Limits == nil {
			out.Limits = map[string]string{}
		}

		out.Limits[name] = limit
	}

	return out
}

// requirements are the resources of a container, as JSON.
func requirements(said k8s.Resources) (string, error) {
	requests := map[string]string{"cpu": defaultCPU, "memory": defaultMemory}

	for name, quantity := range said.Requests {
		if quantity != "" {
			requests[name] = quantity
		}
	}

	for _, list := range []map[string]string{requests, said.Limits} {
		for name, quantity := range list {
			if _, err := apiresource.ParseQuantity(quantity); err != nil {
				return "", fmt.Errorf("error parsing %s: %w", name, err)
			}
		}
	}

	out := map[string]any{"requests": requests}
	if len(said.Limits) > 0 {
		out["limits"] = said.Limits
	}

	return asJSON(out)
}

// memoryLimit is the limit of Go's memory just below that of the container; empty if it has none.
func memoryLimit(said k8s.Resources) (string, error) {
	if said.Limits["memory"] == "" {
		return "", nil
	}

	quantity, err := apiresource.ParseQuantity(said.Limits["memory"])
	if err != nil {
		return "", err
	}

	return strconv.FormatInt(quantity.Value()*95/100, 10), nil
}
