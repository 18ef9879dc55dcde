// Package resources is the COSI state of one virtual Talos machine: what `talosctl get`, `talosctl health` and
// `talosctl upgrade-k8s` read.
//
// On a real machine some hundred controllers derive resources from hardware, config and each other. Here a few facts
// are set, and everything else is computed from them and compared with what is published, so that a fact that is set
// twice changes nothing and watchers see real changes only.
package resources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/protobuf/server"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"

	"firstlight.dev/lab/machine/internal/book"
)

// Machine is the state of one machine. All methods may be called from anywhere at any time.
type Machine struct {
	state  state.State
	server cosi.StateServer

	mu    sync.Mutex
	facts facts
	// published is what this package has put into the state, and in whose name. Resources of other packages in the
	// same state are not touched.
	published map[key]string
}

// New makes the state of a machine that was just switched on: it knows its hardware and nothing else.
func New(hw *book.Hardware) (*Machine, error) {
	st, err := newState(context.Background())
	if err != nil {
		return nil, err
	}

	m := &Machine{
		state:  st,
		server: server.NewState(state.WrapCore(state.Filter(st, accessPolicy(st)))),
		facts: facts{
			hardware:    clone(hw),
			talos:       hw.Talos,
			nodeID:      NodeID(hw.UUID),
			timeSynced:  true,
			services:    map[string]v1alpha1.ServiceSpec{},
			diagnostics: map[string]runtime.DiagnosticSpec{},
			stage:       runtime.MachineStatusSpec{Stage: runtime.MachineStageBooting},
		},
		published: map[key]string{},
	}

	return m, m.publish()
}

// State is the whole state without any filter, for the other parts of the machine.
func (m *Machine) State() state.State { return m.state }

// Server is the state as clients of apid may see it. Roles must be in the context of every call.
func (m *Machine) Server() cosi.StateServer { return m.server }

// change sets facts and publishes what follows from them.
func (m *Machine) change(set func(*facts)) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	set(&m.facts)

	return m.publish()
}

// SetHardware replaces disks, links and the rest of the hardware.
func (m *Machine) SetHardware(hw *book.Hardware) error {
	return m.change(func(f *facts) { f.hardware = clone(hw) })
}

// clone keeps the caller's lists apart from the facts.
func clone(hw *book.Hardware) book.Hardware {
	own := *hw
	own.Disks, own.Links = slices.Clone(hw.Disks), slices.Clone(hw.Links)

	return own
}

// SetVersion says which Talos runs, such as v1.13.0.
func (m *Machine) SetVersion(talos string) error {
	return m.change(func(f *facts) { f.talos = talos })
}

// SetExtensions says which system extensions the running image has. The name "schematic" is what an image factory adds.
func (m *Machine) SetExtensions(extensions ...Extension) error {
	return m.change(func(f *facts) { f.extensions = slices.Clone(extensions) })
}

// SetInstalled says on which disk (/dev/sda) Talos is installed; empty if on none.
func (m *Machine) SetInstalled(device string) error {
	return m.change(func(f *facts) { f.installed = device })
}

// SetMeta replaces the keys of META.
func (m *Machine) SetMeta(values map[uint8]string) error {
	return m.change(func(f *facts) { f.meta = maps.Clone(values) })
}

// SetTimeSynced says if the clock is right. It is, unless somebody says otherwise.
func (m *Machine) SetTimeSynced(synced bool) error {
	return m.change(func(f *facts) { f.timeSynced = synced })
}

// SetIdentity replaces the identity that is derived from the machine's UUID. A machine whose STATE was wiped has a new one.
func (m *Machine) SetIdentity(nodeID string) error {
	return m.change(func(f *facts) { f.nodeID = nodeID })
}

// Identity is the node ID by which the machine is known to the others of its cluster.
func (m *Machine) Identity() string {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.facts.nodeID
}

// SetConfig is a config that is applied and kept.
func (m *Machine) SetConfig(cfg config.Provider) error {
	return m.changeConfig(cfg, func(f *facts, cfg config.Provider) { f.active, f.persistent = cfg, cfg })
}

// SetActiveConfig is a config that is applied but not kept, as in the try mode.
func (m *Machine) SetActiveConfig(cfg config.Provider) error {
	return m.changeConfig(cfg, func(f *facts, cfg config.Provider) { f.active = cfg })
}

// SetPersistentConfig is a config that is kept but not applied, as in the staged mode.
func (m *Machine) SetPersistentConfig(cfg config.Provider) error {
	return m.changeConfig(cfg, func(f *facts, cfg config.Provider) { f.persistent = cfg })
}

func (m *Machine) changeConfig(cfg config.Provider, set func(*facts, config.Provider)) error {
	cfg, err := frozen(cfg)
	if err != nil {
		return err
	}

	return m.change(func(f *facts) { set(f, cfg) })
}

// ClearConfig takes the machine back to maintenance: no config, and nothing that came from one.
func (m *Machine) ClearConfig() error {
	return m.change(func(f *facts) {
		f.active, f.persistent = nil, nil
		f.members, f.etcdMember, f.podStatuses, f.nodeStatus = nil, 0, nil, nil
	})
}

// SetStage says what the machine is doing, and what it still waits for (see Unmet).
func (m *Machine) SetStage(stage runtime.MachineStage, ready bool, unmet ...runtime.UnmetCondition) error {
	return m.change(func(f *facts) {
		f.stage = runtime.MachineStatusSpec{
			Stage:  stage,
			Status: runtime.MachineStatusStatus{Ready: ready, UnmetConditions: unmet},
		}
	})
}

// SetService says how a service is. One that does not run has no resource, as in Talos: a restart is seen as a removal
// and a new one.
func (m *Machine) SetService(id string, running, healthy, unknown bool) error {
	return m.change(func(f *facts) {
		if running {
			f.services[id] = v1alpha1.ServiceSpec{Running: true, Healthy: healthy, Unknown: unknown}
		} else {
			delete(f.services, id)
		}

		if id == "etcd" {
			f.etcdWasHealthy = running && (healthy || f.etcdWasHealthy)
		}
	})
}

// SetMembers replaces what discovery tells about the other machines of the cluster. The machine itself is added by its
// own config; if it is in the list too, that entry is ignored.
func (m *Machine) SetMembers(members []Member) error {
	return m.change(func(f *facts) { f.members = slices.Clone(members) })
}

// SetEtcdMember is the ID of the local etcd member, 0 if there is none. It is shown while the service etcd is healthy.
func (m *Machine) SetEtcdMember(id uint64) error {
	return m.change(func(f *facts) { f.etcdMember = id })
}

// SetStaticPods replaces the statuses of the static pods that the kubelet runs, by "namespace/name" of the pod on this
// node (kube-system/kube-apiserver-cp-1). They are shown while the service kubelet runs.
func (m *Machine) SetStaticPods(statuses map[string]PodStatus) error {
	return m.change(func(f *facts) { f.podStatuses = maps.Clone(statuses) })
}

// SetNodeStatus is what Kubernetes says about the machine's Node; nil if there is no such Node.
func (m *Machine) SetNodeStatus(status *k8s.NodeStatusSpec) error {
	return m.change(func(f *facts) {
		f.nodeStatus = nil

		if status != nil {
			own := status.DeepCopy()
			f.nodeStatus = &own
		}
	})
}

// SetDiagnostic adds or replaces a warning; `talosctl health` fails as long as there is one.
func (m *Machine) SetDiagnostic(id, message string, details ...string) error {
	return m.change(func(f *facts) {
		f.diagnostics[id] = runtime.DiagnosticSpec{Message: message, Details: details}
	})
}

// RemoveDiagnostic removes a warning.
func (m *Machine) RemoveDiagnostic(id string) error {
	return m.change(func(f *facts) { delete(f.diagnostics, id) })
}

// publish brings the state in line with the facts. What a wrong config makes impossible to compute is left out and
// returned as an error; the rest is published all the same.
func (m *Machine) publish() error {
	ctx := context.Background()

	var errs []error

	wanted := map[key]string{}

	for _, stage := range publications {
		for _, subject := range stage {
			resources, err := subject.compute(&m.facts, m.version)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", subject.name, err))
			}

			for _, r := range resources {
				k := keyOf(r.Resource)
				if _, twice := wanted[k]; twice {
					continue
				}

				wanted[k] = r.owner

				if err := put(ctx, m.state, r); err != nil {
					errs = append(errs, err)
				}
			}
		}
	}

	for k, owner := range m.published {
		if _, keep := wanted[k]; keep {
			continue
		}

		err := m.state.Destroy(ctx, k, state.WithDestroyOwner(owner))
		if err != nil && !state.IsNotFoundError(err) {
			errs = append(errs, fmt.Errorf("remove %s: %w", k, err))
		}
	}

	m.published = wanted

	return errors.Join(errs...)
}
