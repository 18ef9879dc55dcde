package manifests

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
)

// recorder is where a renderer sends manifests in a test.
type recorder struct {
	mu   sync.Mutex
	last []string
}

func (r *recorder) changed(manifests []Manifest) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.last = nil
	for _, manifest := range manifests {
		r.last = append(r.last, manifest.ID)
	}
}

func (r *recorder) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return slices.Contains(r.last, id)
}

func TestDownloadsAreTriedAgain(t *testing.T) {
	var requests atomic.Int32

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) <= 2 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)

			return
		}

		fmt.Fprint(w, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: downloaded}\n")
	}))
	defer server.Close()

	url := server.URL + "/extra.yaml"
	seen, log := &recorder{}, &lines{}
	renderer := &Renderer{Does: before14, State: newState(), Changed: seen.changed, Log: log.write}

	go renderer.Run(t.Context())
	renderer.Set(configWith(t, "extraManifests: ["+url+"]", "inlineManifests: [{name: local, contents: '{}'}]"))

	until(t, "what needs no download is there", func() bool { return seen.has("99-local") })

	if seen.has("99-"+url) && requests.Load() < 3 {
		t.Error("a failed download gave a manifest")
	}

	until(t, "the download is there", func() bool { return seen.has("99-" + url) })

	for text, want := range map[string]int{
		fmt.Sprintf("error downloading \\\"%s\\\": bad response code: 503", url):                                                      2,
		fmt.Sprintf(`downloaded manifest "%s" {"component": "controller-runtime", "controller": "k8s.ExtraManifestController"}`, url): 1,
	} {
		if got := log.count(text); got != want {
			t.Errorf("%d lines with %s, want %d:\n%s", got, text, want, log)
		}
	}

	renderer.Set(nil)
	until(t, "everything is gone with the config", func() bool { return !seen.has("00-kubelet-bootstrapping-token") })
}

func configWith(t *testing.T, cluster ...string) config.Provider {
	t.Helper()

	text := "version: v1alpha1\nmachine: {type: controlplane}\n" +
		"cluster:\n  token: abcdef.0123456789abcdef\n  controlPlane: {endpoint: 'https://10.5.0.2:6443'}\n"
	for _, line := range cluster {
		text += "  " + line + "\n"
	}

	return parseConfig(t, []byte(text))
}
