package manifests

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/go-kubernetes/kubernetes/ssa"
	"github.com/siderolabs/go-kubernetes/kubernetes/ssa/object"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// errForeign means that the manifest itself says that the object belongs to somebody else.
var errForeign = errors.New("unexpected foreign inventory annotation")

// applied is the method of Talos since 1.13: what was applied or found once is in the inventory and never looked at again,
// not even when it was deleted.
type applied struct{ keys object.ObjMetadataSet }

func (a *applied) known(key object.ObjMetadata) bool { return a.keys.Contains(key) }

func (a *applied) found(key object.ObjMetadata) { a.keys = a.keys.Union(object.ObjMetadataSet{key}) }

func (a *applied) write(ctx context.Context, target dynamic.ResourceInterface, obj *unstructured.Unstructured) error {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}

	name := constants.KubernetesBootstrapManifestsInventoryName
	if owner, ok := annotations[ssa.InventoryAnnotationKey]; ok && owner != name {
		return errForeign
	}

	annotations[ssa.InventoryAnnotationKey] = name
	obj.SetAnnotations(annotations)

	_, err := target.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: constants.KubernetesFieldManagerName})

	return err
}

// runWithInventory reads the inventory, runs the pass, and writes the inventory even if the pass failed.
//
// Talos 1.13.0 loses the inventory when the pass ends early: the function that runs it then returns no keys beside the
// error, and these are written. It needs only one request that fails, such as a namespace that is not there or a webhook
// that does not answer. The next pass finds the objects of this machine again; what was deleted comes back, and the keys of
// other machines and of removed manifests are gone.
func (p *pass) runWithInventory(
	ctx context.Context, client *kubernetes.Clientset, manifests []Manifest, emptied bool,
) error {
	inventory, err := ssa.GetInventory(ctx, client,
		constants.KubernetesInventoryNamespace, constants.KubernetesBootstrapManifestsInventoryName)
	if err != nil {
		return fmt.Errorf("error getting inventory: %w", err)
	}

	method := &applied{keys: inventory.Get()}
	p.method = method

	complete, failure := p.run(ctx, manifests)
	if emptied && !complete {
		method.keys = nil
	}

	inventory.Update(method.keys)

	if err = inventory.Write(ctx); err != nil {
		err = fmt.Errorf("updating inventory failed: %w", err)
	}

	return errors.Join(failure, err)
}
