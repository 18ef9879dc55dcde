package resources

import (
	"net/netip"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"

	"firstlight.dev/lab/machine/internal/behaviour"
	"firstlight.dev/lab/machine/internal/book"
)

// facts is all that is known about a machine; everything that is published follows from it.
type facts struct {
	hardware   book.Hardware
	talos      string
	extensions []Extension
	installed  string
	meta       map[uint8]string
	timeSynced bool
	nodeID     string

	active, persistent config.Provider

	stage       runtime.MachineStatusSpec
	services    map[string]v1alpha1.ServiceSpec
	members     []Member
	etcdMember  uint64
	podStatuses map[string]PodStatus
	nodeStatus  *k8s.NodeStatusSpec
	diagnostics map[string]runtime.DiagnosticSpec

	// etcdWasHealthy since it was started: what makes the static pods of the control plane appear.
	etcdWasHealthy bool
}

// behaviour is that of the version that runs.
func (f *facts) behaviour() behaviour.Behaviour { return behaviour.Of(f.talos) }

// configured tells if there is a config that makes the machine part of a cluster. A config may have network documents only.
func (f *facts) configured() bool {
	return f.active != nil && f.active.Machine() != nil && f.active.Cluster() != nil
}

// controlPlane tells if the config makes the machine a control plane.
func (f *facts) controlPlane() bool {
	return f.configured() && f.active.Machine().Type().IsControlPlane()
}

// hostDNS is the machine's own resolver; nil if the config does not say anything of it.
func (f *facts) hostDNS() talosconfig.NetworkHostDNSConfig {
	if !f.configured() {
		return nil
	}

	return f.active.NetworkHostDNSConfig()
}

// uplink is the link that carries the machine's address: the first that is up.
func (f *facts) uplink() (index int, ok bool) {
	index = slices.IndexFunc(f.hardware.Links, func(l book.Link) bool { return l.Up })

	return index, index >= 0
}

// address is the machine's own, with its network; zero if no link is up.
func (f *facts) address() netip.Prefix {
	addr, err := netip.ParseAddr(f.hardware.Address)
	if _, up := f.uplink(); !up || err != nil {
		return netip.Prefix{}
	}

	return netip.PrefixFrom(addr, f.hardware.Prefix)
}
