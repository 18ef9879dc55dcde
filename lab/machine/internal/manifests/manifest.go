package manifests

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Manifest is a named list of objects; the ID begins with a priority, and manifests go in the order of their IDs.
type Manifest struct {
	ID string
	// Extra says that it came from the config and not from Talos.
	Extra   bool
	Objects []*unstructured.Unstructured
}

// parse reads the documents of a YAML stream: empty ones are left out, Lists are replaced by what they hold.
func parse(text []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured

	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))

	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}

		if err != nil {
			return nil, err
		}

		asJSON, err := yaml.ToJSON(bytes.TrimSpace(document))
		if err != nil {
			return nil, fmt.Errorf("error converting manifest to JSON: %w", err)
		}

		if slices.Contains([]string{"", "null", "{}"}, string(asJSON)) {
			continue
		}

		var object unstructured.Unstructured

		if err := json.Unmarshal(asJSON, &object); err != nil {
			return nil, fmt.Errorf("error loading JSON manifest into unstructured: %w", err)
		}

		if !object.IsList() {
			objects = append(objects, &object)

			continue
		}

		if err := object.EachListItem(func(item runtime.Object) error {
			single, ok := item.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("list item is not Unstructured: %T", item)
			}

			objects = append(objects, single)

			return nil
		}); err != nil {
			return nil, fmt.Errorf("error unwrapping a List: %w", err)
		}
	}
}

func byID(a, b Manifest) int { return cmp.Compare(a.ID, b.ID) }

// clone makes the objects safe to change: a pass sets namespaces and annotations on them.
func clone(manifests []Manifest) []Manifest {
	out := slices.Clone(manifests)

	for i := range out {
		out[i].Objects = make([]*unstructured.Unstructured, len(manifests[i].Objects))

		for j, object := range manifests[i].Objects {
			out[i].Objects[j] = object.DeepCopy()
		}
	}

	return out
}
