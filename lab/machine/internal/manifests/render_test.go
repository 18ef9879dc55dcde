package manifests

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"firstlight.dev/lab/machine/internal/behaviour"
)

var update = flag.Bool("update", false, "write testdata/*.golden from what the tests got")

// Every config in testdata has a file beside it that says what is made of it.
func TestRenderedManifests(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configs in testdata: %v", err)
	}

	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			rendered, err := Render(t.Context(), loadConfig(t, file), behaviourOf(file), &http.Client{Transport: fromTestdata{}}, nil)
			if err != nil {
				t.Fatal(err)
			}

			got := describe(rendered)
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"

			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; -update writes it", err)
			}

			if !bytes.Equal(got, want) {
				t.Errorf("render of %s is not as in %s; -update accepts it. Got:\n%s", file, golden, got)
			}
		})
	}
}

func TestImagesComeFromTheConfig(t *testing.T) {
	rendered, err := Render(t.Context(), loadConfig(t, "testdata/dual-stack.yaml"), before14, nil, nil)
	if err != nil {
		t.Fatal(err)
	}

	for key, want := range map[string]string{
		"DaemonSet/kube-proxy": "images.example/kube-proxy:v1.30.4",
		"Deployment/coredns":   "images.example/coredns:v9",
	} {
		if got := firstImage(t, rendered.Manifests, key); got != want {
			t.Errorf("image of %s is %q, want %q", key, got, want)
		}
	}

	// Flannel's image has no setting: it is the one of this version of Talos.
	if got := firstImage(t, rendered.Manifests, "DaemonSet/kube-flannel"); !strings.HasSuffix(got, "/flannel:"+constants.FlannelVersion) {
		t.Errorf("image of flannel is %q", got)
	}
}

// The lab makes a node ready when a pod on it mounts this directory of the host.
func TestFlannelMountsTheDirectoryOfCNIs(t *testing.T) {
	rendered, err := Render(t.Context(), loadConfig(t, "testdata/defaults.yaml"), before14, nil, nil)
	if err != nil {
		t.Fatal(err)
	}

	volumes, _, err := unstructured.NestedSlice(
		find(t, rendered.Manifests, "DaemonSet/kube-flannel").Object, "spec", "template", "spec", "volumes")
	if err != nil {
		t.Fatal(err)
	}

	if !slices.ContainsFunc(volumes, func(volume any) bool {
		path, _, _ := unstructured.NestedString(volume.(map[string]any), "hostPath", "path")

		return path == "/etc/cni/net.d"
	}) {
		t.Errorf("no volume of the flannel pods is /etc/cni/net.d: %v", volumes)
	}
}

func TestConfigsThatCannotBeRendered(t *testing.T) {
	for name, change := range map[string]string{
		"image that is no reference":   "proxy: {image: 'NOT AN IMAGE'}",
		"domain of two lines":          `network: {dnsDomain: "a\nb"}`,
		"kubeconfig flag of the proxy": "proxy: {extraArgs: {kubeconfig: /elsewhere}}",
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf("version: v1alpha1\nmachine: {type: controlplane}\n"+
				"cluster:\n  token: abcdef.0123456789abcdef\n  controlPlane: {endpoint: 'https://10.5.0.2:6443'}\n  %s\n", change)

			if rendered, err := Render(t.Context(), parseConfig(t, []byte(text)), before14, nil, nil); err == nil {
				t.Errorf("no error, but %d manifests", len(rendered.Manifests))
			}
		})
	}
}

func TestEveryBuiltinFileIsUsed(t *testing.T) {
	files, err := builtinFiles.ReadDir("builtin")
	if err != nil || len(files) != len(builtinIDs) {
		t.Errorf("%d files, %d IDs, %v", len(files), len(builtinIDs), err)
	}
}

func TestNoConfigGivesNoManifests(t *testing.T) {
	rendered, err := Render(t.Context(), nil, before14, nil, nil)
	if err != nil || rendered.Bootstrap != nil || len(rendered.Manifests) > 0 {
		t.Errorf("got %+v, %v", rendered, err)
	}
}

// A document that ends in a block of text loses its last newline in Talos, since documents are trimmed.
func TestParseTrimsDocuments(t *testing.T) {
	objects, err := parse([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  key: |\n    text\n\n---\n"))
	if err != nil || len(objects) != 1 {
		t.Fatalf("got %v, %v", objects, err)
	}

	if value, _, _ := unstructured.NestedString(objects[0].Object, "data", "key"); value != "text" {
		t.Errorf("got %q", value)
	}
}

func TestObjectsAreOrdered(t *testing.T) {
	var got []string

	for _, obj := range inOrder([]Manifest{
		inline("99-b", "apps/v1 Deployment b", "v1 Namespace zulu", "apiextensions.k8s.io/v1 CustomResourceDefinition y"),
		inline("99-a", "v1 Secret z", "v1 Secret a", "apiextensions.k8s.io/v1 CustomResourceDefinition x", "v1 Namespace alpha"),
	}) {
		got = append(got, obj.GetKind()+" "+obj.GetName())
	}

	want := []string{
		"Namespace alpha", "Namespace zulu", "CustomResourceDefinition x", "CustomResourceDefinition y",
		"Secret z", "Secret a", "Deployment b",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// inline makes a manifest of objects, each given as "apiVersion Kind [namespace/]name". ConfigMaps have a key, so that
// somebody owns something in them.
func inline(id string, objects ...string) Manifest {
	manifest := Manifest{ID: id, Extra: true}

	for _, text := range objects {
		fields := strings.Fields(text)
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetAPIVersion(fields[0])
		obj.SetKind(fields[1])

		if namespace, name, ok := strings.Cut(fields[2], "/"); ok {
			obj.SetNamespace(namespace)
			obj.SetName(name)
		} else {
			obj.SetName(fields[2])
		}

		if fields[1] == "ConfigMap" {
			obj.Object["data"] = map[string]any{"key": "value"}
		}

		manifest.Objects = append(manifest.Objects, obj)
	}

	return manifest
}

func describe(rendered *Rendered) []byte {
	var out bytes.Buffer

	if b := rendered.Bootstrap; b != nil {
		fmt.Fprintf(&out, "cni %s\nserver %s\ndomain %s\ndns %q %q\nproxy %s\n\n",
			b.CNIName, b.Server, b.ClusterDomain, b.DNSServiceIP, b.DNSServiceIPv6, strings.Join(b.ProxyArgs, " "))
	}

	for _, manifest := range rendered.Manifests {
		fmt.Fprintln(&out, manifest.ID)

		for _, obj := range manifest.Objects {
			fmt.Fprintf(&out, "  %s %s %s\n", obj.GetAPIVersion(), obj.GetKind(),
				strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/"))
		}
	}

	if rendered.Failed != nil {
		fmt.Fprintf(&out, "\nfailed\n%s", rendered.Failed)
	}

	return out.Bytes()
}

// fromTestdata answers requests with the files of testdata/downloads; those of the config need the header of the config.
type fromTestdata struct{}

func (fromTestdata) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == "" {
		return nil, fmt.Errorf("unsupported protocol scheme %q", request.URL.Scheme)
	}

	recorded := &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: request}
	name := filepath.Base(request.URL.Path)

	if text, err := os.ReadFile(filepath.Join("testdata", "downloads", name)); err == nil {
		recorded.StatusCode, recorded.Body = http.StatusOK, io.NopCloser(bytes.NewReader(text))
	}

	if name == "extra.yaml" && request.Header.Get("X-Token") != "secret" {
		recorded.StatusCode = http.StatusUnauthorized
	}

	return recorded, nil
}

func loadConfig(t *testing.T, file string) config.Provider {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	return parseConfigAs(t, behaviourOf(file), text)
}

var (
	before14 = behaviour.Of("v1.13.0")
	since14  = behaviour.Of("v1.14.1")
)

// behaviourOf is what the name of a file in testdata says: that of 1.14, or of 1.13.
func behaviourOf(file string) behaviour.Behaviour {
	if strings.HasSuffix(file, "-1.14.yaml") {
		return since14
	}

	return before14
}

func parseConfig(t *testing.T, text []byte) config.Provider {
	t.Helper()

	return parseConfigAs(t, before14, text)
}

func parseConfigAs(t *testing.T, does behaviour.Behaviour, text []byte) config.Provider {
	t.Helper()

	cfg, err := does.Load(text)
	if err != nil {
		t.Fatal(err)
	}

	return cfg
}

// find gives the object Kind/name of the manifests.
func find(t *testing.T, manifests []Manifest, key string) *unstructured.Unstructured {
	t.Helper()

	for _, manifest := range manifests {
		for _, obj := range manifest.Objects {
			if obj.GetKind()+"/"+obj.GetName() == key {
				return obj
			}
		}
	}

	t.Fatalf("no %s in the manifests", key)

	return nil
}

func firstImage(t *testing.T, manifests []Manifest, key string) string {
	t.Helper()

	containers, _, err := unstructured.NestedSlice(find(t, manifests, key).Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		t.Fatalf("containers of %s: %v", key, err)
	}

	image, _, _ := unstructured.NestedString(containers[0].(map[string]any), "image")

	return image
}
