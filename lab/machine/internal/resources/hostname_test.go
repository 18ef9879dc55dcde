package resources_test

import (
	"errors"
	"net/netip"
	"regexp"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"firstlight.dev/lab/machine/internal/resources"
)

// The pair is from Talos's own tests.
func TestStableHostnameIsTalosName(t *testing.T) {
	if got := resources.StableHostname("fGdOI05hVrx3YMagLo0Bwxa2Nm9BAswWm8XLeEj0aS4"); got != "talos-hwz-sw5" {
		t.Errorf("got %s", got)
	}
}

func TestNodeIDsLookLikeTalosNodeIDs(t *testing.T) {
	form := regexp.MustCompile(`^[0-9A-Za-z]{43}$`)

	if resources.NodeID("a") != resources.NodeID("a") || resources.NodeID("a") == resources.NodeID("b") {
		t.Error("a node ID must follow from the UUID alone")
	}

	if resources.NewNodeID() == resources.NewNodeID() {
		t.Error("new node IDs must differ")
	}

	for _, id := range []string{resources.NodeID("a"), resources.NodeID(""), resources.NewNodeID()} {
		if !form.MatchString(id) {
			t.Errorf("%q is no node ID", id)
		}
	}
}

func v1alpha1Config(t *testing.T, hostname string, stable, fqdn bool) config.Config {
	t.Helper()

	c, err := container.New(&v1alpha1.Config{
		ConfigVersion: "v1alpha1",
		MachineConfig: &v1alpha1.MachineConfig{
			MachineType:     "worker",
			MachineNetwork:  &v1alpha1.NetworkConfig{NetworkHostname: hostname}, //nolint:staticcheck // old configs
			MachineFeatures: &v1alpha1.FeaturesConfig{StableHostname: &stable},  //nolint:staticcheck // old configs
			MachineKubelet:  &v1alpha1.KubeletConfig{KubeletRegisterWithFQDN: &fqdn},
		},
		ClusterConfig: &v1alpha1.ClusterConfig{},
	})
	must(t, err)

	return c
}

func TestNodename(t *testing.T) {
	const nodeID = "fGdOI05hVrx3YMagLo0Bwxa2Nm9BAswWm8XLeEj0aS4"

	address := netip.MustParseAddr("10.5.0.2")

	for name, test := range map[string]struct {
		cfg  config.Config
		want string
	}{
		"a hostname":                      {v1alpha1Config(t, "worker-1", false, false), "worker-1"},
		"a full name":                     {v1alpha1Config(t, "worker-1.example.org", false, false), "worker-1"},
		"a full name, registered as such": {v1alpha1Config(t, "worker-1.example.org", false, true), "worker-1.example.org"},
		"a name that Kubernetes refuses":  {v1alpha1Config(t, "-Worker_1!", false, false), "worker-1"},
		"none, stable":                    {v1alpha1Config(t, "", true, false), "talos-hwz-sw5"},
		"none, old":                       {v1alpha1Config(t, "", false, false), "talos-10-5-0-2"},
		"a document":                      {generated(t, machine.TypeWorker, named), "cp-1"},
		"a generated config":              {generated(t, machine.TypeWorker), "talos-hwz-sw5"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resources.Nodename(test.cfg, nodeID, address)
			must(t, err)

			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestNoConfigNoName(t *testing.T) {
	if _, err := resources.Nodename(nil, "x", netip.Addr{}); !errors.Is(err, resources.ErrNoHostname) {
		t.Errorf("got %v", err)
	}
}
