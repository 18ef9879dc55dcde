package manifests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"firstlight.dev/lab/machine/internal/behaviour"
)

// downloadTimeout is short, since most addresses lead nowhere in a lab.
const downloadTimeout = 5 * time.Second

// downloadLimit is far above what etcd could hold of one manifest.
const downloadLimit = 64 << 20

// Priorities of what the config adds: a cloud provider comes after Talos's own manifests, the rest last. Before Talos 1.14
// a CNI came before Talos's own proxy and DNS.
const (
	priorityCNI   = "05"
	priorityCloud = "30"
	priorityExtra = "99"
)

// Extra is what the config of a control plane adds to Talos's own manifests, by documents and by the fields that they
// replace. Of those with one ID the last one counts.
func Extra(cfg config.Provider, does behaviour.Behaviour) k8s.ExtraManifestsConfigSpec {
	var spec k8s.ExtraManifestsConfigSpec

	var early []string
	if does.CNIManifestsFirst {
		early = cniURLs(cfg)
	}

	for _, url := range early {
		spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{Name: url, URL: url, Priority: priorityCNI})
	}

	for _, url := range cfg.Cluster().ExternalCloudProvider().ManifestURLs() {
		spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{Name: url, URL: url, Priority: priorityCloud})
	}

	// The machinery has those of the CNI last.
	externals := cfg.K8sExternalManifestConfigs()

	for _, external := range externals[:len(externals)-len(early)] {
		spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{
			Name: external.Name(), URL: external.URL(), Priority: priorityExtra, ExtraHeaders: external.Headers(),
		})
	}

	for _, inline := range cfg.K8sInlineManifestConfigs() {
		spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{
			Name: inline.Name(), Priority: priorityExtra, InlineManifest: inline.Contents(),
		})
	}

	return spec
}

// cniURLs are those of cluster.network.cni.
func cniURLs(cfg config.Provider) []string {
	raw := cfg.RawV1Alpha1()
	if raw == nil || raw.ClusterConfig == nil {
		return nil
	}

	return raw.ClusterConfig.CNI().URLs()
}

func extraID(extra k8s.ExtraManifest) string { return extra.Priority + "-" + extra.Name }

// readExtra gives the objects of one extra manifest. Talos takes an inline manifest without contents for one that must be
// downloaded, and so fails on it.
func readExtra(
	ctx context.Context, client *http.Client, extra k8s.ExtraManifest, log logger,
) ([]*unstructured.Unstructured, error) {
	text := []byte(extra.InlineManifest)

	if extra.InlineManifest == "" {
		var err error

		if text, err = download(ctx, client, extra); err != nil {
			return nil, fmt.Errorf("error downloading %q: %w", extra.URL, err)
		}

		log.info("downloaded manifest %q", extra.URL)
	}

	objects, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("error updating manifests: %w", err)
	}

	return objects, nil
}

func download(ctx context.Context, client *http.Client, extra k8s.ExtraManifest) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, extra.URL, nil)
	if err != nil {
		return nil, err
	}

	for name, value := range extra.ExtraHeaders {
		request.Header.Add(name, value)
	}

	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck

	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("bad response code: %d", response.StatusCode)
	}

	return io.ReadAll(io.LimitReader(response.Body, downloadLimit))
}
