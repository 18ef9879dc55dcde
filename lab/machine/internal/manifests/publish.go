package manifests

import (
	"context"
	"fmt"
	"slices"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Publish makes the resources of a machine equal to a render. As in Talos, as long as an extra manifest fails none of the
// extra ones is removed, so that one that cannot be downloaded again stays as it was.
func Publish(ctx context.Context, st state.State, rendered *Rendered) error {
	if err := publishConfigs(ctx, st, rendered); err != nil {
		return err
	}

	wanted := map[resource.ID]bool{}

	for _, manifest := range rendered.Manifests {
		wanted[manifest.ID] = true

		if err := safe.StateModify(ctx, st, k8s.NewManifest(k8s.ControlPlaneNamespaceName, manifest.ID),
			func(res *k8s.Manifest) error {
				res.TypedSpec().Items = make([]k8s.SingleManifest, len(manifest.Objects))

				for i, object := range manifest.Objects {
					res.TypedSpec().Items[i].Object = object.DeepCopy().Object
				}

				return nil
			}, state.WithUpdateOwner(owner(manifest.Extra))); err != nil {
			return fmt.Errorf("error updating manifest %q: %w", manifest.ID, err)
		}
	}

	published, err := safe.StateListAll[*k8s.Manifest](ctx, st)
	if err != nil {
		return fmt.Errorf("error listing manifests: %w", err)
	}

	for res := range published.All() {
		meta := res.Metadata()
		if wanted[meta.ID()] || (rendered.Failed != nil && meta.Owner() == extraController) {
			continue
		}

		if err := st.Destroy(ctx, meta, state.WithDestroyOwner(meta.Owner())); err != nil {
			return fmt.Errorf("error cleaning up manifests: %w", err)
		}
	}

	return nil
}

func publishConfigs(ctx context.Context, st state.State, rendered *Rendered) error {
	if rendered.Bootstrap == nil || rendered.Extra == nil {
		// Nothing is applied any more on a machine that is no control plane.
		for owner, res := range map[string]resource.Resource{
			bootstrapController:   k8s.NewBootstrapManifestsConfig(),
			extraConfigController: k8s.NewExtraManifestsConfig(),
		} {
			err := st.Destroy(ctx, res.Metadata(), state.WithDestroyOwner(owner))
			if err != nil && !state.IsNotFoundError(err) {
				return fmt.Errorf("error tearing down: %w", err)
			}
		}

		return nil
	}

	if err := safe.StateModify(ctx, st, k8s.NewBootstrapManifestsConfig(), func(res *k8s.BootstrapManifestsConfig) error {
		*res.TypedSpec() = *rendered.Bootstrap

		return nil
	}, state.WithUpdateOwner(bootstrapController)); err != nil {
		return err
	}

	return safe.StateModify(ctx, st, k8s.NewExtraManifestsConfig(), func(res *k8s.ExtraManifestsConfig) error {
		*res.TypedSpec() = *rendered.Extra

		return nil
	}, state.WithUpdateOwner(extraConfigController))
}

// Published reads back the manifests of a machine, in the order of their IDs.
func Published(ctx context.Context, st state.State) ([]Manifest, error) {
	list, err := safe.StateListAll[*k8s.Manifest](ctx, st)
	if err != nil {
		return nil, fmt.Errorf("error listing manifests: %w", err)
	}

	manifests := make([]Manifest, 0, list.Len())

	for res := range list.All() {
		manifest := Manifest{ID: res.Metadata().ID(), Extra: res.Metadata().Owner() == extraController}

		for _, item := range res.TypedSpec().Items {
			manifest.Objects = append(manifest.Objects, (&unstructured.Unstructured{Object: item.Object}).DeepCopy())
		}

		manifests = append(manifests, manifest)
	}

	slices.SortFunc(manifests, byID)

	return manifests, nil
}

// PublishStatus says which manifests a clean pass has put into the cluster.
func PublishStatus(ctx context.Context, st state.State, applied []string) error {
	return safe.StateModify(ctx, st, k8s.NewManifestStatus(k8s.ControlPlaneNamespaceName),
		func(res *k8s.ManifestStatus) error {
			res.TypedSpec().ManifestsApplied = slices.Clone(applied)

			return nil
		}, state.WithUpdateOwner(applyController))
}

func owner(extra bool) string {
	if extra {
		return extraController
	}

	return manifestController
}
