package manifests

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/go-multierror"
	"github.com/siderolabs/go-kubernetes/kubernetes/ssa/object"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Mode is how a version of Talos puts objects into the cluster.
type Mode string

const (
	// CreateOnly creates what is missing and knows nothing else: Talos up to 1.12.
	CreateOnly Mode = "1.12"
	// Inventory applies what is missing server-side, and remembers it: Talos since 1.13.
	Inventory Mode = "1.13"
)

// Options of a pass.
type Options struct {
	Mode Mode
	// EmptyInventory keeps a defect of 1.13.0: a pass that ends early writes an empty inventory.
	EmptyInventory bool
	// Lock keeps the machines of a cluster from running passes at the same time; nil means none.
	Lock Locker
	// Log gets lines for dmesg and the log of controller-runtime.
	Log func(format string, args ...any)
}

// Apply runs one pass over the manifests. Objects that cannot be mapped or are refused are collected in the error and do not
// stop the rest; anything else that goes wrong ends the pass.
func Apply(ctx context.Context, api *rest.Config, manifests []Manifest, options Options) error {
	api = rest.CopyConfig(api)
	api.WarningHandler = rest.NewWarningWriter(logger{applyController, options.Log}, rest.WarningWriterOptions{Deduplicate: true})

	client, err := rest.HTTPClientFor(api)
	if err != nil {
		return fmt.Errorf("error building HTTP client for kubeconfig: %w", err)
	}
	defer client.CloseIdleConnections()

	discover, err := discovery.NewDiscoveryClientForConfigAndClient(api, client)
	if err != nil {
		return fmt.Errorf("error building discovery client: %w", err)
	}

	dynamicClient, err := dynamic.NewForConfigAndClient(api, client)
	if err != nil {
		return fmt.Errorf("error building dynamic client: %w", err)
	}

	clientset, err := kubernetes.NewForConfigAndClient(api, client)
	if err != nil {
		return err
	}

	p := &pass{
		// What the API server knows is asked once in a pass, so that an object whose CRD is new waits for the next one.
		mapper:  restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discover)),
		objects: dynamicClient,
		log:     logger{applyController, options.Log},
	}

	if options.Lock != nil {
		unlock, err := options.Lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
	}

	switch options.Mode {
	case CreateOnly:
		p.method = createOnly{}

		_, err := p.run(ctx, manifests)

		return err
	case Inventory:
		return p.runWithInventory(ctx, clientset, manifests, options.EmptyInventory)
	}

	return fmt.Errorf("unknown mode of manifests %q", options.Mode)
}

// method is what the modes do differently.
type method interface {
	// known says that an object needs nothing at all, not even a look.
	known(key object.ObjMetadata) bool
	// found is called for an object that is there.
	found(key object.ObjMetadata)
	// write puts a missing object into the cluster.
	write(ctx context.Context, target dynamic.ResourceInterface, obj *unstructured.Unstructured) error
}

type pass struct {
	mapper  meta.RESTMapper
	objects dynamic.Interface
	method  method
	log     logger
}

// objectError is a problem of one object; the pass goes on.
type objectError struct{ error }

func (e objectError) Unwrap() error { return e.error }

// run places the objects; complete says that it came to the end of them.
func (p *pass) run(ctx context.Context, manifests []Manifest) (complete bool, err error) {
	var collected *multierror.Error

	for _, obj := range inOrder(clone(manifests)) {
		err := p.place(ctx, obj)

		if one := (objectError{}); errors.As(err, &one) {
			collected = multierror.Append(collected, one.error)
		} else if err != nil {
			return false, err
		}
	}

	return true, collected.ErrorOrNil()
}

// place brings one object into the cluster if it is not there.
func (p *pass) place(ctx context.Context, obj *unstructured.Unstructured) error {
	kind := obj.GroupVersionKind()
	name := fmt.Sprintf("%s/%s/%s/%s", kind.Group, kind.Version, kind.Kind, obj.GetName())

	// The key is taken before a missing namespace is filled in, as in Talos.
	key, err := object.RuntimeToObjMeta(obj)
	if err != nil {
		return fmt.Errorf("failed to retrieve object metadata of %q: %w", name, err)
	}

	if p.method.known(key) {
		return nil
	}

	mapping, err := p.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		err = fmt.Errorf("error creating mapping for object %s: %w", name, err)

		if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || meta.IsNoMatchError(err) {
			return objectError{err}
		}

		return err
	}

	var target dynamic.ResourceInterface = p.objects.Resource(mapping.Resource)

	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(corev1.NamespaceDefault)
		}

		target = p.objects.Resource(mapping.Resource).Namespace(obj.GetNamespace())
	}

	_, err = target.Get(ctx, obj.GetName(), metav1.GetOptions{})

	switch {
	case err == nil:
		p.method.found(key)

		return nil
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("error checking resource existence: %w", err)
	}

	err = p.method.write(ctx, target, obj)

	switch {
	case err == nil:
		p.log.info("created %s", name)
		p.method.found(key)

		return nil
	case errors.Is(err, errForeign):
		return objectError{fmt.Errorf("%w on %s", err, name)}
	case apierrors.IsMethodNotSupported(err), apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		return objectError{fmt.Errorf("error creating %s: %w", name, err)}
	case errors.Is(err, errAlreadyThere):
		return nil
	}

	return fmt.Errorf("error creating %s: %w", name, err)
}
