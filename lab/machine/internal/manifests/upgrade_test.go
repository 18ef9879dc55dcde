package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/state"
	gokubernetes "github.com/siderolabs/go-kubernetes/kubernetes/manifests"
	"github.com/siderolabs/go-kubernetes/kubernetes/ssa"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// upgrade does what talosctl upgrade-k8s does in the end, and when the version stays does only: it takes the manifests
// from the resources of a machine and puts them into the cluster.
type upgrade struct {
	resources state.State
	cluster   *cluster
}

func (u upgrade) objects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()

	objects, err := gokubernetes.GetBootstrapManifests(t.Context(), u.resources, nil)
	if err != nil {
		t.Fatal(err)
	}

	return objects
}

func (u upgrade) manager(t *testing.T) *ssa.Manager {
	t.Helper()

	manager, err := ssa.NewManager(t.Context(), u.cluster.api, constants.KubernetesFieldManagerName,
		constants.KubernetesInventoryNamespace, constants.KubernetesBootstrapManifestsInventoryName)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(manager.Close)

	return manager
}

// dryRun gives "action subject" of everything that would change.
func (u upgrade) dryRun(t *testing.T) []string {
	t.Helper()

	results, err := u.manager(t).Diff(t.Context(), u.objects(t), ssa.DiffOptions{
		InventoryPolicy: ssa.InventoryPolicyAdoptIfNoInventory,
	})
	if err != nil {
		t.Fatal(err)
	}

	var out []string

	for _, result := range results {
		if result.Action != ssa.DiffUnchangedAction {
			out = append(out, string(result.Action)+" "+result.Subject)
		}
	}

	return out
}

// run gives "action subject" of everything that changed.
func (u upgrade) run(t *testing.T) []string {
	t.Helper()

	changes, err := u.manager(t).Apply(t.Context(), u.objects(t), ssa.ApplyOptions{
		InventoryPolicy: ssa.InventoryPolicyAdoptIfNoInventory, WaitTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}

	var out []string

	for _, change := range changes {
		if change.Action != ssa.UnchangedAction {
			out = append(out, change.Action.String()+" "+change.Subject)
		}
	}

	return out
}

// What a machine wrote is what talosctl upgrade-k8s takes for its own: there is nothing to do right after a pass, and what
// left the config is pruned by the inventory.
func TestUpgradePrunesWhatLeftTheConfig(t *testing.T) {
	c := useCluster(t)
	u := upgrade{resources: newState(), cluster: c}

	use := func(names ...string) []Manifest {
		var inlined []string
		for _, name := range names {
			inlined = append(inlined, fmt.Sprintf(`{name: %s, contents: "apiVersion: v1\nkind: ConfigMap\n`+
				`metadata: {name: prune-%s, namespace: default}\ndata: {key: value}\n"}`, name, name))
		}

		rendered, err := Render(t.Context(), configWith(t, "inlineManifests: ["+strings.Join(inlined, ", ")+"]"), before14, nil, nil)
		if err != nil || rendered.Failed != nil {
			t.Fatal(err, rendered.Failed)
		}

		publish(t, u.resources, rendered)
		c.pass(t, Inventory, rendered.Manifests...)

		return rendered.Manifests
	}

	// One that an older Talos created, and that is in no inventory.
	c.pass(t, CreateOnly, inline("99-old", "v1 ConfigMap default/prune-old"))
	use("stays", "leaves")

	if got := u.dryRun(t); len(got) > 0 {
		t.Errorf("a dry run after a pass wants %q", got)
	}

	left := use("stays")

	if c.get(t, "prune-leaves") == nil {
		t.Fatal("the pass of the machine pruned")
	}

	if got := u.dryRun(t); !slices.Equal(got, []string{"Pruned ConfigMap/default/prune-leaves"}) {
		t.Errorf("a dry run wants %q", got)
	}

	if got := u.run(t); !slices.Equal(got, []string{"deleted ConfigMap/default/prune-leaves"}) {
		t.Errorf("the run did %q", got)
	}

	if c.get(t, "prune-leaves") != nil || c.get(t, "prune-stays") == nil || c.get(t, "prune-old") == nil {
		t.Error("the run removed the wrong objects")
	}

	got := c.inventory(t)
	if slices.Contains(got, "default_prune-leaves__ConfigMap") || !slices.Contains(got, "default_prune-stays__ConfigMap") {
		t.Errorf("inventory %q", got)
	}

	c.remove(t, left)
}

// The inventory that the defect emptied no longer says what to prune.
func TestUpgradeAfterAnEmptyInventory(t *testing.T) {
	c := useCluster(t)
	u := upgrade{resources: newState(), cluster: c}
	c.pass(t, Inventory, inline("99-a", "v1 ConfigMap default/orphan"))

	err := Apply(t.Context(), c.api, []Manifest{inline("99-b", "v1 ConfigMap nowhere/orphan")},
		Options{Mode: Inventory, EmptyInventory: true})
	if err == nil {
		t.Fatal("no error")
	}

	if got := u.run(t); len(got) > 0 || c.get(t, "orphan") == nil {
		t.Errorf("the run did %q", got)
	}
}

// Up to 1.12 an upgrade replaces whole objects, and prunes nothing.
func TestUpgradeOfCreateOnlyReplaces(t *testing.T) {
	c := useCluster(t)
	u := upgrade{resources: newState(), cluster: c}
	manifest := inline("99-a", "v1 ConfigMap default/replaced")
	publish(t, u.resources, &Rendered{Manifests: []Manifest{manifest}})
	c.pass(t, CreateOnly, manifest, inline("99-b", "v1 ConfigMap default/replaced-not"))
	c.label(t, "replaced", "by-hand")

	log := &lines{}
	if err := gokubernetes.SyncWithLog(t.Context(), u.objects(t), c.api, false, log.write); err != nil {
		t.Fatal(err)
	}

	if labels := c.get(t, "replaced").GetLabels(); len(labels) > 0 || c.get(t, "replaced-not") == nil {
		t.Errorf("labels %v are still there, or too much is gone:\n%s", labels, log)
	}
}
