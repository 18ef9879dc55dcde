package manifests

import (
	"context"
	"net/http"
	"slices"

	"github.com/hashicorp/go-multierror"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"firstlight.dev/lab/machine/internal/behaviour"
)

// Rendered is everything that a machine derives from its config.
type Rendered struct {
	// Bootstrap and Extra are what the config asks for; nil on a machine that is not a control plane.
	Bootstrap *k8s.BootstrapManifestsConfigSpec
	Extra     *k8s.ExtraManifestsConfigSpec
	// Manifests in the order of their IDs.
	Manifests []Manifest
	// Failed are the extra manifests that could not be read; nil if there are none.
	Failed error
}

// Render derives the manifests of a machine from its config. What cannot be downloaded or parsed is said in Failed and does
// not hold up the rest; an error means that not even Talos's own manifests could be made.
func Render(
	ctx context.Context, cfg config.Provider, does behaviour.Behaviour, client *http.Client,
	log func(format string, args ...any),
) (*Rendered, error) {
	if !wanted(cfg) {
		return &Rendered{}, nil
	}

	if client == nil {
		client = http.DefaultClient
	}

	bootstrap, err := Bootstrap(cfg, does)
	if err != nil {
		return nil, err
	}

	own, err := builtin(bootstrap, does, cfg.Cluster().Token())
	if err != nil {
		return nil, err
	}

	extra := Extra(cfg, does)
	extras := map[string]Manifest{}

	var failed *multierror.Error

	for _, each := range extra.ExtraManifests {
		objects, err := readExtra(ctx, client, each, logger{extraController, log})
		if err != nil {
			failed = multierror.Append(failed, err)

			continue
		}

		// Two extra manifests may have one ID, such as a URL given twice: the last one wins.
		extras[extraID(each)] = Manifest{ID: extraID(each), Extra: true, Objects: objects}
	}

	manifests := own
	for _, each := range extras {
		manifests = append(manifests, each)
	}

	slices.SortFunc(manifests, byID)

	return &Rendered{Bootstrap: &bootstrap, Extra: &extra, Manifests: manifests, Failed: failed.ErrorOrNil()}, nil
}
