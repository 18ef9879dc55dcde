package resources

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// Unmet is what a machine that boots or runs still waits for, in Talos's words and order: it is ready if there is
// nothing. In other stages Talos waits for nothing.
func (m *Machine) Unmet() []runtime.UnmetCondition {
	m.mu.Lock()
	defer m.mu.Unlock()

	f := &m.facts

	var out []runtime.UnmetCondition

	for _, check := range []struct{ name, reason string }{
		{"time", timeProblem(f)},
		{"network", networkProblem(f)},
		{"services", servicesProblem(f)},
		{"staticPods", staticPodsProblem(f)},
		{"nodeReady", nodeProblem(f)},
	} {
		if check.reason != "" {
			out = append(out, runtime.UnmetCondition{Name: check.name, Reason: check.reason})
		}
	}

	return out
}

func timeProblem(f *facts) string {
	disabled := f.active != nil && f.active.NetworkTimeSyncConfig() != nil && f.active.NetworkTimeSyncConfig().Disabled()

	if !f.timeSynced && !disabled {
		return "time is not synced"
	}

	return ""
}

func networkProblem(f *facts) string {
	status := f.networkStatus()

	var missing []string

	for _, part := range []struct {
		name  string
		ready bool
	}{
		{"address", status.AddressReady},
		{"connectivity", status.ConnectivityReady},
		{"etc-files", status.EtcFilesReady},
		{"hostname", status.HostnameReady},
	} {
		if !part.ready {
			missing = append(missing, part.name)
		}
	}

	if len(missing) == 0 {
		return ""
	}

	return "waiting on: " + strings.Join(missing, ", ")
}

func servicesProblem(f *facts) string {
	var problems []string

	for _, id := range slices.Sorted(maps.Keys(f.services)) {
		if s := f.services[id]; !s.Unknown && !s.Healthy {
			problems = append(problems, id+" not healthy")
		}
	}

	required := []string{"apid", "machined", "kubelet"}
	if f.controlPlane() {
		required = append(required, "etcd", "trustd")
	}

	for _, id := range required {
		if _, runs := f.services[id]; !runs {
			problems = append(problems, id+" not running")
		}
	}

	return strings.Join(problems, ", ")
}

func staticPodsProblem(f *facts) string {
	if !f.kubeletRuns() {
		return ""
	}

	var problems []string

	for _, id := range slices.Sorted(maps.Keys(f.podStatuses)) {
		if reason := podProblem(f.podStatuses[id]); reason != "" {
			problems = append(problems, id+" "+reason)
		}
	}

	return strings.Join(problems, ", ")
}

func nodeProblem(f *facts) string {
	name := f.nodename()

	switch {
	case name == "" || f.active.K8sNodeConfig() == nil || f.active.K8sNodeConfig().SkipNodeRegistration():
		return ""
	case f.nodeStatus == nil || f.nodeStatus.Nodename != name:
		return fmt.Sprintf("node %q status is not available yet", name)
	case !f.nodeStatus.NodeReady:
		return fmt.Sprintf("node %q is not ready", name)
	default:
		return ""
	}
}
