package resources_test

import (
	"context"
	"sync"
	"testing"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"

	"firstlight.dev/lab/machine/internal/book"
	"firstlight.dev/lab/machine/internal/resources"
)

const gib = 1 << 30

// hardware of a machine with a small system disk, a bigger one, and a second link without a cable.
func hardware() *book.Hardware {
	return &book.Hardware{
		Name:       "cp-1",
		UUID:       "5e7f3b52-7ad1-4c6b-9c5e-0b1b1c9c1a01",
		Loopback:   "127.71.1.11",
		Address:    "10.5.0.2",
		Prefix:     24,
		Gateway:    "10.5.0.1",
		CPUs:       8,
		Memory:     32 * gib,
		Talos:      "v1.13.0",
		Kubernetes: "v1.36.0",
		Disks: []book.Disk{
			{Device: "/dev/nvme0n1", Size: 64 * gib, Model: "Fast Disk", Serial: "N123", Transport: "nvme"},
			{Device: "/dev/sda", Size: 2048 * gib, Model: "Big Disk", Serial: "S456", Transport: "sata", Rotational: true},
		},
		Links: []book.Link{
			{Name: "eth0", MAC: "52:54:00:12:34:56", Up: true, Speed: 10000},
			{Name: "eth1", MAC: "52:54:00:12:34:57"},
		},
	}
}

func newMachine(t *testing.T) *resources.Machine {
	t.Helper()

	m, err := resources.New(hardware())
	must(t, err)

	return m
}

// clusterSecrets are made once: a key for service accounts takes seconds.
var clusterSecrets = sync.OnceValues(func() (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewClock(), config.TalosVersionCurrent)
})

// generated is a config as `talosctl gen config` makes it for Talos 1.13, with patches.
func generated(t *testing.T, kind machine.Type, patches ...string) config.Provider {
	t.Helper()

	return generatedFor(t, config.TalosVersion1_13, kind, patches...)
}

// generatedFor is one for another version: since 1.14 the settings of Kubernetes are documents.
func generatedFor(t *testing.T, version *config.VersionContract, kind machine.Type, patches ...string) config.Provider {
	t.Helper()

	bundle, err := clusterSecrets()
	must(t, err)

	in, err := generate.NewInput("lab", "https://10.5.0.2:6443", "1.36.0",
		generate.WithInstallDisk("/dev/nvme0n1"), generate.WithSecretsBundle(bundle), generate.WithVersionContract(version))
	must(t, err)

	cfg, err := in.Config(kind)
	must(t, err)

	return patched(t, cfg, patches...)
}

func patched(t *testing.T, cfg config.Provider, patches ...string) config.Provider {
	t.Helper()

	loaded, err := configpatcher.LoadPatches(patches)
	must(t, err)

	out, err := configpatcher.Apply(configpatcher.WithConfig(cfg), loaded)
	must(t, err)

	text, err := out.Bytes()
	must(t, err)

	provider, err := configloader.NewFromBytes(text)
	must(t, err)

	return provider
}

// named gives a config a hostname.
const named = "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: cp-1.lab.example\nauto: off\n"

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// get is a resource that must be there.
func get[R interface {
	resource.Resource
	meta.ResourceDefinitionProvider
}](t *testing.T, st state.State, id string) R {
	t.Helper()

	r, err := safe.StateGetByID[R](context.Background(), st, id)
	must(t, err)

	return r
}

// there tells if a resource is there.
func there[R interface {
	resource.Resource
	meta.ResourceDefinitionProvider
}](t *testing.T, st state.State, id string) bool {
	t.Helper()

	_, err := safe.StateGetByID[R](context.Background(), st, id)
	if err != nil && !state.IsNotFoundError(err) {
		t.Fatal(err)
	}

	return err == nil
}

// everything is all resources of a state but the definitions, by their name.
func everything(t *testing.T, st state.State) map[string]resource.Resource {
	t.Helper()

	ctx := context.Background()

	definitions, err := safe.StateListAll[*meta.ResourceDefinition](ctx, st)
	must(t, err)

	namespaces, err := safe.StateListAll[*meta.Namespace](ctx, st)
	must(t, err)

	all := map[string]resource.Resource{}

	for definition := range definitions.All() {
		for namespace := range namespaces.All() {
			if namespace.Metadata().ID() == meta.NamespaceName {
				continue
			}

			list, err := st.List(ctx, resource.NewMetadata(namespace.Metadata().ID(), definition.TypedSpec().Type, "", resource.VersionUndefined))
			must(t, err)

			for _, r := range list.Items {
				all[namespace.Metadata().ID()+"/"+resource.String(r)] = r
			}
		}
	}

	return all
}
