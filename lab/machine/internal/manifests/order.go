package manifests

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// inOrder lists the objects as a pass takes them: Namespaces and then CRDs, each by name, then the rest as it stands.
func inOrder(manifests []Manifest) []*unstructured.Unstructured {
	manifests = slices.SortedStableFunc(slices.Values(manifests), byID)

	var objects []*unstructured.Unstructured
	for _, manifest := range manifests {
		objects = append(objects, manifest.Objects...)
	}

	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		if byStage := cmp.Compare(stage(a), stage(b)); byStage != 0 || stage(a) == others {
			return byStage
		}

		return cmp.Compare(a.GetName(), b.GetName())
	})

	return objects
}

const (
	namespaces = iota
	definitions
	others
)

func stage(obj *unstructured.Unstructured) int {
	kind := obj.GroupVersionKind()

	switch {
	case kind.Kind == "Namespace" && kind.Version == "v1":
		return namespaces
	case kind.Kind == "CustomResourceDefinition" && kind.Group == "apiextensions.k8s.io":
		return definitions
	}

	return others
}
