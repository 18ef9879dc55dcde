package resources_test

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/go-kubernetes/kubernetes/upgrade"
	taloscluster "github.com/siderolabs/talos/pkg/cluster"
	"github.com/siderolabs/talos/pkg/cluster/check"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/role"
)

// talosCluster is a cluster as `talosctl health` sees it, as far as it needs no Kubernetes.
type talosCluster struct {
	taloscluster.ClientProvider
	taloscluster.K8sProvider
	taloscluster.Info
}

// discovered is what health makes of the members that a machine tells.
func discovered(t *testing.T, c *client.Client) check.ClusterInfo {
	t.Helper()

	list, err := safe.StateListAll[*cluster.Member](context.Background(), c.COSI)
	must(t, err)

	var members []*cluster.Member
	for m := range list.All() {
		members = append(members, m)
	}

	info, err := check.NewDiscoveredClusterInfo(members)
	must(t, err)

	return talosCluster{ClientProvider: &taloscluster.ConfigClientProvider{DefaultClient: c}, Info: info}
}

// These are Talos's own checks, over the wire.
func TestHealthReadsTheState(t *testing.T) {
	m := newMachine(t)
	settle(t, m, generated(t, machine.TypeControlPlane, named))
	must(t, m.SetMembers(nil))

	address := endpoint(t, 4, m.Server(), role.Admin) // configs of the control plane are secret

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	c, err := client.New(ctx, client.WithEndpoints(address), client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true}))
	must(t, err)

	defer c.Close() //nolint:errcheck

	info := discovered(t, c)

	if nodes := info.NodesByType(machine.TypeControlPlane); len(nodes) != 1 || nodes[0].InternalIP.String() != "10.5.0.2" {
		t.Fatalf("nodes %v", nodes)
	}

	for _, step := range []struct {
		name  string
		check func(context.Context, check.ClusterInfo) error
		fault func() error
		mend  func() error
		want  string
	}{
		{
			"diagnostics", check.NoDiagnostics,
			func() error { return nil },
			func() error { return m.RemoveDiagnostic("kubelet-csr") },
			"active diagnostics",
		},
		{
			"disk sizes", check.AllNodesDiskSizes,
			func() error {
				hw := hardware()
				hw.Disks[0].Size = 4 * gib

				return m.SetHardware(hw)
			},
			func() error { return m.SetHardware(hardware()) },
			"too small",
		},
		{
			"static pods", check.K8sControlPlaneStaticPods,
			func() error { return m.SetService("kubelet", false, false, false) },
			func() error { return m.SetService("kubelet", true, true, false) },
			"missing static pods",
		},
		{
			"boot", check.AllNodesBootedAssertion,
			func() error { return m.SetStage(runtime.MachineStageRebooting, true) },
			func() error { return m.SetStage(runtime.MachineStageRunning, true) },
			"nodes are not running",
		},
	} {
		t.Run(step.name, func(t *testing.T) {
			must(t, step.fault())

			if err := step.check(ctx, info); err == nil || !strings.Contains(err.Error(), step.want) {
				t.Errorf("with a fault: %v", err)
			}

			must(t, step.mend())

			if err := step.check(ctx, info); err != nil {
				t.Errorf("mended: %v", err)
			}
		})
	}
}

// The checks of upgrade-k8s read flags of static pods and kubelets.
func TestUpgradeSeesRemovedFlags(t *testing.T) {
	m := newMachine(t)

	path, err := upgrade.NewPath("1.34.0", "1.35.0")
	must(t, err)

	run := func(cfg ...string) error {
		settle(t, m, generated(t, machine.TypeControlPlane, append([]string{named}, cfg...)...))

		checks, err := upgrade.NewChecks(path, m.State(), nil, []string{"10.5.0.2"}, nil, t.Logf)
		must(t, err)

		return checks.Run(context.Background())
	}

	must(t, run())

	err = run("machine: {kubelet: {extraArgs: {pod-infra-container-image: x}}}\n" +
		"cluster: {apiServer: {extraArgs: {feature-gates: SizeMemoryBackedVolumes=true}}}")

	var removed upgrade.ComponentRemovedItemsError
	if !errors.As(err, &removed) || len(removed.CLIFlags) != 1 || len(removed.FeatureGates) != 1 {
		t.Errorf("got %v", err)
	}
}
