package resources

import (
	"bytes"
	"context"
	"fmt"
	"reflect"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/typed"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
)

// owned is a resource and the Talos controller that owns it on a real machine: `talosctl get -o yaml` shows it.
type owned struct {
	resource.Resource
	owner string
}

// of is a resource with a spec.
func of[T typed.DeepCopyable[T], E typed.Extension](owner string, r *typed.Resource[T, E], spec T) owned {
	*r.TypedSpec() = spec

	return owned{Resource: r, owner: owner}
}

// key names a resource; it is a resource.Pointer.
type key struct{ namespace, kind, id string }

func keyOf(r resource.Resource) key {
	md := r.Metadata()

	return key{namespace: md.Namespace(), kind: md.Type(), id: md.ID()}
}

func (k key) Namespace() string { return k.namespace }
func (k key) Type() string      { return k.kind }
func (k key) ID() string        { return k.id }
func (k key) String() string    { return fmt.Sprintf("%s(%s/%s)", k.kind, k.namespace, k.id) }

// subject computes the resources of one matter from the facts.
type subject struct {
	name    string
	compute func(*facts, versions) ([]owned, error)
}

// versions tells the version of a resource that was published before; empty if it was not.
type versions func(resource.Pointer) string

// publications are all subjects, in stages: those of a later stage need versions of resources of an earlier one.
var publications = [][]subject{
	{
		plain("disks", disks),
		plain("volumes", volumes),
		plain("system", system),
		plain("links", links),
		plain("addresses", addresses),
		plain("node addresses", nodeAddresses),
		plain("resolvers and time", networkServices),
		plain("hostname", hostname),
		plain("runtime", runtimeState),
		plain("kernel parameters", kernelParameters),
		plain("machine config", machineConfig),
		plain("services", services),
		plain("secrets", rootSecrets),
		plain("discovery", discovery),
		plain("node", node),
		plain("kubelet", kubelet),
		plain("control plane", controlPlane),
		plain("etcd", etcdMember),
		plain("diagnostics", diagnostics),
		plain("static pod statuses", staticPodStatuses),
	},
	{
		{"node name", nodename},
		{"static pods", staticPods},
	},
}

func plain(name string, compute func(*facts) ([]owned, error)) subject {
	return subject{name: name, compute: func(f *facts, _ versions) ([]owned, error) { return compute(f) }}
}

// version of a published resource.
func (m *Machine) version(p resource.Pointer) string {
	r, err := m.state.Get(context.Background(), p)
	if err != nil {
		return ""
	}

	return r.Metadata().Version().String()
}

// put creates or updates a resource, and does nothing if it is there with the same content.
func put(ctx context.Context, st state.State, r owned) error {
	current, err := st.Get(ctx, r.Metadata())

	switch {
	case state.IsNotFoundError(err):
		err = st.Create(ctx, r.Resource, state.WithCreateOwner(r.owner))
	case err != nil:
	case same(current, r.Resource):
		return nil
	default:
		r.Metadata().SetVersion(current.Metadata().Version())

		if err = r.Metadata().SetOwner(current.Metadata().Owner()); err == nil {
			err = st.Update(ctx, r.Resource, state.WithUpdateOwner(r.owner))
		}
	}

	if err != nil {
		return fmt.Errorf("publish %s: %w", keyOf(r), err)
	}

	return nil
}

// same compares contents. Configs are compared by what they say: the objects differ in their caches.
func same(a, b resource.Resource) bool {
	if !a.Metadata().Labels().Equal(*b.Metadata().Labels()) {
		return false
	}

	configA, okA := a.(*config.MachineConfig)
	configB, okB := b.(*config.MachineConfig)

	if okA && okB {
		bytesA, errA := configA.Provider().Bytes()
		bytesB, errB := configB.Provider().Bytes()

		return errA == nil && errB == nil && bytes.Equal(bytesA, bytesB)
	}

	return reflect.DeepEqual(a.Spec(), b.Spec())
}
