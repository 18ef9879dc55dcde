package manifests

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	gokubernetes "github.com/siderolabs/go-kubernetes/kubernetes/manifests"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

func newState() state.State { return state.WrapCore(namespaced.NewState(inmem.Build)) }

func render(t *testing.T, file string) *Rendered {
	t.Helper()

	rendered, err := Render(t.Context(), loadConfig(t, file), behaviourOf(file), &http.Client{Transport: fromTestdata{}}, nil)
	if err != nil {
		t.Fatal(err)
	}

	return rendered
}

func publish(t *testing.T, st state.State, rendered *Rendered) {
	t.Helper()

	if err := Publish(t.Context(), st, rendered); err != nil {
		t.Fatal(err)
	}
}

func publishedIDs(t *testing.T, st state.State) []string {
	t.Helper()

	manifests, err := Published(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}

	ids := make([]string, len(manifests))
	for i, manifest := range manifests {
		ids[i] = manifest.ID
	}

	return ids
}

func TestPublishFollowsTheRender(t *testing.T) {
	st := newState()

	publish(t, st, render(t, "testdata/defaults.yaml"))

	if ids := publishedIDs(t, st); !slices.Contains(ids, "05-flannel") || len(ids) != 10 {
		t.Errorf("defaults: %q", ids)
	}

	// What health reads.
	bootstrap, err := safe.StateGetByID[*k8s.BootstrapManifestsConfig](t.Context(), st, k8s.BootstrapManifestsConfigID)
	if err != nil || bootstrap.TypedSpec().CNIName != "flannel" {
		t.Errorf("CNI of the defaults: %v, %v", bootstrap, err)
	}

	before := versions(t, st)

	publish(t, st, render(t, "testdata/defaults.yaml"))

	if after := versions(t, st); !reflect.DeepEqual(before, after) {
		t.Errorf("the same render changed versions: %v, then %v", before, after)
	}

	publish(t, st, render(t, "testdata/dual-stack.yaml"))

	if after := versions(t, st); after["10-kube-proxy"] == before["10-kube-proxy"] || after["01-csr-node-bootstrap"] != before["01-csr-node-bootstrap"] {
		t.Errorf("another config did not change what it should: %v, then %v", before, after)
	}

	publish(t, st, render(t, "testdata/worker.yaml"))

	if ids := publishedIDs(t, st); len(ids) > 0 {
		t.Errorf("a worker has manifests: %q", ids)
	}

	_, err = safe.StateGetByID[*k8s.BootstrapManifestsConfig](t.Context(), st, k8s.BootstrapManifestsConfigID)
	if !state.IsNotFoundError(err) {
		t.Errorf("a worker has a bootstrap config: %v", err)
	}
}

func versions(t *testing.T, st state.State) map[string]string {
	t.Helper()

	list, err := safe.StateListAll[*k8s.Manifest](t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]string{}
	for res := range list.All() {
		out[res.Metadata().ID()] = res.Metadata().Version().String()
	}

	return out
}

func TestExtraManifestsStayWhileOneFails(t *testing.T) {
	st := newState()
	whole := render(t, "testdata/downloads.yaml")
	whole.Failed = nil
	publish(t, st, whole)

	before := publishedIDs(t, st)

	// The next render could not read any of them.
	partial := render(t, "testdata/defaults.yaml")
	partial.Failed = http.ErrServerClosed
	publish(t, st, partial)

	after := publishedIDs(t, st)
	for _, id := range before {
		if strings.HasPrefix(id, "99-") && !slices.Contains(after, id) {
			t.Errorf("%s was removed", id)
		}
	}

	// Talos's own are made by another controller, which does not wait.
	if slices.Contains(after, "13-talos-service-account-crd") {
		t.Error("a built-in manifest that is not wanted any more was kept")
	}

	partial.Failed = nil
	publish(t, st, partial)

	if after := publishedIDs(t, st); slices.Contains(after, "99-alpha") {
		t.Errorf("kept after a render without failure: %q", after)
	}
}

func TestResourcesLookLikeThoseOfTalos(t *testing.T) {
	st := newState()
	publish(t, st, render(t, "testdata/downloads.yaml"))

	if err := PublishStatus(t.Context(), st, []string{"99-alpha"}); err != nil {
		t.Fatal(err)
	}

	for _, want := range []struct{ kind, id, owner string }{
		{k8s.ManifestType, "10-kube-proxy", "k8s.ManifestController"},
		{k8s.ManifestType, "99-alpha", "k8s.ExtraManifestController"},
		{k8s.ManifestType, "05-https://example.internal/cni.yaml", "k8s.ExtraManifestController"},
		{k8s.BootstrapManifestsConfigType, "manifests", "k8s.ControlPlaneBootstrapManifestsController"},
		{k8s.ExtraManifestsConfigType, "extra-manifests", "k8s.ControlPlaneExtraManifestsController"},
		{k8s.ManifestStatusType, "manifests", "k8s.ManifestApplyController"},
	} {
		res, err := st.Get(t.Context(), resource.NewMetadata(k8s.ControlPlaneNamespaceName, want.kind, want.id, resource.VersionUndefined))
		if err != nil {
			t.Error(err)
		} else if res.Metadata().Owner() != want.owner {
			t.Errorf("%s %s belongs to %q, want %q", want.kind, want.id, res.Metadata().Owner(), want.owner)
		}
	}
}

// What talosctl reads over the wire is what was rendered.
func TestManifestsSurviveTheWire(t *testing.T) {
	st := newState()
	rendered := render(t, "testdata/defaults.yaml")
	publish(t, st, rendered)

	list, err := safe.StateListAll[*k8s.Manifest](t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}

	remote := newState()

	for res := range list.All() {
		message, err := protobuf.FromResource(res)
		if err != nil {
			t.Fatalf("%s: %v", res.Metadata().ID(), err)
		}

		wire, err := message.Marshal()
		if err != nil {
			t.Fatal(err)
		}

		received, err := protobuf.Unmarshal(wire)
		if err != nil {
			t.Fatal(err)
		}

		typed, err := protobuf.UnmarshalResource(received)
		if err != nil {
			t.Fatal(err)
		}

		if err := remote.Create(t.Context(), typed, state.WithCreateOwner(res.Metadata().Owner())); err != nil {
			t.Fatal(err)
		}
	}

	objects, err := gokubernetes.GetBootstrapManifests(t.Context(), remote, nil)
	if err != nil {
		t.Fatal(err)
	}

	var want []string
	for _, manifest := range rendered.Manifests {
		for _, obj := range manifest.Objects {
			text, _ := obj.MarshalJSON()
			want = append(want, string(text))
		}
	}

	var got []string
	for _, obj := range objects {
		text, _ := obj.MarshalJSON()
		got = append(got, string(text))
	}

	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
