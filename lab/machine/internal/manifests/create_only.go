package manifests

import (
	"context"
	"errors"

	"github.com/siderolabs/go-kubernetes/kubernetes/ssa/object"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// errAlreadyThere means that somebody else was faster, which is as good.
var errAlreadyThere = errors.New("already there")

// createOnly is the method of Talos up to 1.12: the API server records it as an Update by talos.
type createOnly struct{}

func (createOnly) known(object.ObjMetadata) bool { return false }

func (createOnly) found(object.ObjMetadata) {}

func (createOnly) write(ctx context.Context, target dynamic.ResourceInterface, obj *unstructured.Unstructured) error {
	_, err := target.Create(ctx, obj, metav1.CreateOptions{FieldManager: constants.KubernetesFieldManagerName})
	if apierrors.IsAlreadyExists(err) {
		return errAlreadyThere
	}

	return err
}
