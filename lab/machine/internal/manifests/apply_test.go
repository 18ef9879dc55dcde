package manifests

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/siderolabs/go-kubernetes/kubernetes/ssa"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const owned = "talos-bootstrap-manifests-inventory"

func TestCreateOnlyCreatesAndNothingElse(t *testing.T) {
	c := useCluster(t)
	made := inline("99-made", "v1 ConfigMap default/create-made", "v1 ConfigMap default/create-removed")
	c.pass(t, CreateOnly, made)

	obj := c.get(t, "create-made")
	if got := managers(obj); !slices.Equal(got, []string{"talos Update"}) {
		t.Errorf("managers %q", got)
	}

	if obj.GetAnnotations()[ssa.InventoryAnnotationKey] != "" || c.inventory(t) != nil {
		t.Error("there is a trace of an inventory")
	}

	c.label(t, "create-made", "by-hand")
	c.delete(t, "create-removed")
	c.create(t, "create-foreign")
	before := c.get(t, "create-foreign")

	c.pass(t, CreateOnly, made, inline("99-other", "v1 ConfigMap default/create-foreign"))

	if got := c.get(t, "create-made").GetLabels()["edited"]; got != "by-hand" {
		t.Errorf("the edit is %q", got)
	}

	if c.get(t, "create-removed") == nil {
		t.Error("what was deleted did not come back with the next pass")
	}

	if after := c.get(t, "create-foreign"); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("an object of somebody else was changed")
	}

	c.pass(t, CreateOnly, inline("99-other", "v1 ConfigMap default/create-foreign"))

	if c.get(t, "create-made") == nil {
		t.Error("what left the manifests was deleted")
	}
}

func TestInventoryRemembersWhatWasApplied(t *testing.T) {
	c := useCluster(t)
	log := &lines{}
	made := inline("99-made", "v1 ConfigMap default/apply-made", "v1 ConfigMap default/apply-removed",
		"rbac.authorization.k8s.io/v1 ClusterRole apply:role", "v1 ConfigMap apply-nowhere")

	if err := Apply(t.Context(), c.api, []Manifest{made}, Options{Mode: Inventory, Log: log.write}); err != nil {
		t.Fatal(err)
	}

	obj := c.get(t, "apply-made")
	if got := managers(obj); !slices.Equal(got, []string{"talos Apply"}) {
		t.Errorf("managers %q", got)
	}

	if got := obj.GetAnnotations()[ssa.InventoryAnnotationKey]; got != owned {
		t.Errorf("owning inventory %q", got)
	}

	// The namespace of the last one was filled in after its key was made.
	want := []string{
		"_apply-nowhere__ConfigMap", "_apply__role_rbac.authorization.k8s.io_ClusterRole",
		"default_apply-made__ConfigMap", "default_apply-removed__ConfigMap",
	}
	if got := c.inventory(t); !slices.Equal(got, want) {
		t.Errorf("inventory %q, want %q", got, want)
	}

	if c.get(t, "apply-nowhere") == nil {
		t.Error("an object without a namespace is not in the default one")
	}

	line := `created rbac.authorization.k8s.io/v1/ClusterRole/apply:role {"component": "controller-runtime", "controller": "k8s.ManifestApplyController"}`
	if log.count(line) != 1 || log.count("created /v1/ConfigMap/apply-made ") != 1 {
		t.Errorf("log:\n%s", log)
	}

	c.label(t, "apply-made", "by-hand")
	c.delete(t, "apply-removed")
	c.pass(t, Inventory, made)

	if got := c.get(t, "apply-made").GetLabels()["edited"]; got != "by-hand" {
		t.Errorf("the edit is %q", got)
	}

	if c.get(t, "apply-removed") != nil {
		t.Error("what was deleted came back")
	}

	if got := c.inventory(t); !slices.Equal(got, want) {
		t.Errorf("inventory after the second pass %q", got)
	}
}

func TestForeignObjectsAreOnlyRemembered(t *testing.T) {
	c := useCluster(t)
	before := c.create(t, "backfill-foreign")
	c.pass(t, Inventory, inline("99-a", "v1 ConfigMap default/backfill-foreign"))

	after := c.get(t, "backfill-foreign")
	if after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("it was changed: %v", after)
	}

	if got := c.inventory(t); !slices.Equal(got, []string{"default_backfill-foreign__ConfigMap"}) {
		t.Errorf("inventory %q", got)
	}
}

// An upgrade from 1.12 to 1.13 finds its objects again.
func TestModesFollowEachOther(t *testing.T) {
	c := useCluster(t)
	manifest := inline("99-a", "v1 ConfigMap default/upgrade-a")
	c.pass(t, CreateOnly, manifest)
	c.pass(t, Inventory, manifest)

	if got := managers(c.get(t, "upgrade-a")); !slices.Equal(got, []string{"talos Update"}) {
		t.Errorf("managers %q", got)
	}

	if got := c.inventory(t); !slices.Equal(got, []string{"default_upgrade-a__ConfigMap"}) {
		t.Errorf("inventory %q", got)
	}
}

func TestProblemsOfObjectsDoNotStopTheRest(t *testing.T) {
	c := useCluster(t)

	for _, mode := range []Mode{CreateOnly, Inventory} {
		t.Run(string(mode), func(t *testing.T) {
			last := "problem-last-" + strings.ReplaceAll(string(mode), ".", "-")
			err := Apply(t.Context(), c.api, []Manifest{
				inline("99-a", "example.internal/v1 Nothing default/a", "v1 ConfigMap default/NOT_A_NAME", "v1 ConfigMap default/"+last),
			}, Options{Mode: mode})

			for _, want := range []string{
				"2 errors occurred", `error creating mapping for object example.internal/v1/Nothing/a: no matches for kind "Nothing"`,
				"error creating /v1/ConfigMap/NOT_A_NAME:",
			} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v does not say %s", err, want)
				}
			}

			if c.get(t, last) == nil {
				t.Error("the object after them is not there")
			}
		})
	}
}

func TestForeignAnnotationOfAManifest(t *testing.T) {
	c := useCluster(t)
	manifest := inline("99-a", "v1 ConfigMap default/annotated", "v1 ConfigMap default/annotated-next")
	manifest.Objects[0].SetAnnotations(map[string]string{ssa.InventoryAnnotationKey: "other"})

	err := Apply(t.Context(), c.api, []Manifest{manifest}, Options{Mode: Inventory})
	if err == nil || !strings.Contains(err.Error(), "unexpected foreign inventory annotation on /v1/ConfigMap/annotated") {
		t.Errorf("error %v", err)
	}

	if c.get(t, "annotated") != nil || c.get(t, "annotated-next") == nil {
		t.Error("the wrong one of the two was applied")
	}
}

// Each machine applies its own config; the inventory is what all of them applied.
func TestMachinesShareTheInventory(t *testing.T) {
	c := useCluster(t)

	var machines sync.WaitGroup

	for _, name := range []string{"one", "two", "three"} {
		machines.Go(func() {
			err := Apply(t.Context(), c.api, []Manifest{
				inline("99-common", "v1 ConfigMap default/machines-common"),
				inline("99-"+name, "v1 ConfigMap default/machines-"+name),
			}, Options{Mode: Inventory, Lock: EtcdLock(c.connectEtcd)})
			if err != nil {
				t.Error(err)
			}
		})
	}

	machines.Wait()

	want := []string{
		"default_machines-common__ConfigMap", "default_machines-one__ConfigMap",
		"default_machines-three__ConfigMap", "default_machines-two__ConfigMap",
	}
	if got := c.inventory(t); !slices.Equal(got, want) {
		t.Errorf("inventory %q, want %q", got, want)
	}
}

// The defect of 1.13.0, and what follows from it. The connection breaks in the middle of a pass and is there again for the
// write of the inventory.
func TestEmptyInventory(t *testing.T) {
	for name, defective := range map[string]bool{"defect": true, "correct": false} {
		t.Run(name, func(t *testing.T) {
			c := useCluster(t)
			kept, removed, added := name+"-kept", name+"-removed", name+"-added"
			options := Options{Mode: Inventory, EmptyInventory: defective}
			first := inline("99-a", "v1 ConfigMap default/"+kept, "v1 ConfigMap default/"+removed)
			c.pass(t, Inventory, first)
			c.delete(t, removed)

			manifests := []Manifest{first, inline("99-b", "v1 ConfigMap default/"+added)}

			err := Apply(t.Context(), breakOn(c.api, "/configmaps/"+added), manifests, options)
			if err == nil || !strings.Contains(err.Error(), "error checking resource existence") {
				t.Fatalf("error %v", err)
			}

			got := c.inventory(t)
			if defective && len(got) > 0 {
				t.Errorf("the inventory kept %q", got)
			}

			if !defective && len(got) != 2 {
				t.Errorf("the inventory lost something: %q", got)
			}

			if err := Apply(t.Context(), c.api, manifests, options); err != nil {
				t.Fatal(err)
			}

			if back := c.get(t, removed) != nil; back != defective {
				t.Errorf("the deleted object came back: %v", back)
			}

			if got := c.inventory(t); len(got) != 3 {
				t.Errorf("inventory after the retry %q", got)
			}
		})
	}
}

// The defect needs no broken connection: a manifest whose namespace is missing is enough. An object that is refused is not.
func TestWhatEmptiesTheInventory(t *testing.T) {
	for object, empties := range map[string]bool{
		"v1 ConfigMap nowhere/empties":      true,
		"v1 ConfigMap default/NOT_A_NAME":   false,
		"example.internal/v1 Nothing empty": false,
	} {
		t.Run(object, func(t *testing.T) {
			c := useCluster(t)
			err := Apply(t.Context(), c.api, []Manifest{inline("99-a", "v1 ConfigMap default/empties-a", object)},
				Options{Mode: Inventory, EmptyInventory: true})

			if err == nil {
				t.Fatal("no error")
			}

			if got := c.inventory(t); (len(got) == 0) != empties {
				t.Errorf("inventory %q after %v", got, err)
			}
		})
	}
}

func TestUnreachableInventoryIsNotWritten(t *testing.T) {
	c := useCluster(t)
	c.pass(t, Inventory, inline("99-a", "v1 ConfigMap default/unread-a"))

	err := Apply(t.Context(), breakOn(c.api, "/configmaps/"+owned), []Manifest{inline("99-b", "v1 ConfigMap default/unread-b")},
		Options{Mode: Inventory, EmptyInventory: true})
	if err == nil || !strings.Contains(err.Error(), "error getting inventory") {
		t.Errorf("error %v", err)
	}

	if got := c.inventory(t); !slices.Equal(got, []string{"default_unread-a__ConfigMap"}) || c.get(t, "unread-b") != nil {
		t.Errorf("inventory %q", got)
	}
}

// breakOn makes the connection fail for requests to paths that end so.
func breakOn(api *rest.Config, suffix string) *rest.Config {
	broken := rest.CopyConfig(api)
	broken.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.HasSuffix(request.URL.Path, suffix) {
				// client-go waits and tries again after a reset, but not after this.
				return nil, errors.New("no route to host")
			}

			return next.RoundTrip(request)
		})
	}

	return broken
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Talos's own manifests pass the validation of a real API server, in both modes.
func TestBuiltinsAreValid(t *testing.T) {
	for _, mode := range []Mode{CreateOnly, Inventory} {
		t.Run(string(mode), func(t *testing.T) {
			c := useCluster(t)
			manifests := render(t, "testdata/defaults.yaml").Manifests
			c.pass(t, mode, manifests...)

			service, err := c.kube.CoreV1().Services("kube-system").Get(t.Context(), "kube-dns", metav1.GetOptions{})
			if err != nil || service.Spec.ClusterIP != "10.96.0.10" {
				t.Errorf("kube-dns: %v, %v", service, err)
			}

			// What health looks for.
			for label, want := range map[string]int{"k8s-app=kube-proxy": 1, "k8s-app=flannel": 1, "k8s-app=kube-dns": 0} {
				found, err := c.kube.AppsV1().DaemonSets("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: label})
				if err != nil || len(found.Items) != want {
					t.Errorf("DaemonSets with %s: %v, %v", label, found, err)
				}
			}

			deployments, err := c.kube.AppsV1().Deployments("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
			if err != nil || len(deployments.Items) != 1 || *deployments.Items[0].Spec.Replicas != 2 {
				t.Errorf("Deployments of CoreDNS: %v, %v", deployments, err)
			}

			c.remove(t, manifests)
		})
	}
}

// remove deletes the objects of manifests, so that another test finds none of them.
func (c *cluster) remove(t *testing.T, manifests []Manifest) {
	t.Helper()

	for _, manifest := range manifests {
		for _, obj := range manifest.Objects {
			plural := strings.ToLower(obj.GetKind()) + "s"
			resource := c.objects.Resource(obj.GroupVersionKind().GroupVersion().WithResource(plural))

			var err error
			if namespace := obj.GetNamespace(); namespace != "" {
				err = resource.Namespace(namespace).Delete(t.Context(), obj.GetName(), metav1.DeleteOptions{})
			} else {
				err = resource.Delete(t.Context(), obj.GetName(), metav1.DeleteOptions{})
			}

			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWarningsOfTheServerAreLogged(t *testing.T) {
	c := useCluster(t)
	log := &lines{}

	err := Apply(t.Context(), c.api, []Manifest{inline("99-a", "v1 Endpoints default/warned")}, Options{Mode: CreateOnly, Log: log.write})
	if err != nil {
		t.Fatal(err)
	}

	if log.count("Warning: v1 Endpoints is deprecated") != 1 {
		t.Errorf("not one warning in the log:\n%s", log)
	}
}

func TestLockIsExclusive(t *testing.T) {
	c := useCluster(t)
	lock := EtcdLock(c.connectEtcd)

	unlock, err := lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	impatient, cancel := context.WithTimeout(t.Context(), 10*pollEvery)
	defer cancel()

	if _, err := lock(impatient); err == nil {
		t.Error("two have the lock")
	}

	got := make(chan struct{})

	go func() {
		second, err := lock(t.Context())
		if err != nil {
			t.Error(err)
		} else {
			second()
		}

		close(got)
	}()

	unlock()
	until(t, "the second gets the lock", func() bool {
		select {
		case <-got:
			return true
		default:
			return false
		}
	})
}

// A machine that is stopped in the middle of a pass must not keep the others waiting.
func TestLockIsFreedWhenThePassIsCancelled(t *testing.T) {
	c := useCluster(t)
	lock := EtcdLock(c.connectEtcd)

	pass, cancel := context.WithCancel(t.Context())

	unlock, err := lock(pass)
	if err != nil {
		t.Fatal(err)
	}

	cancel()
	unlock()

	soon, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	again, err := lock(soon)
	if err != nil {
		t.Fatal(err)
	}

	again()
}
