// Command go-yaml says what Go reads: base64 of a text on each line of its input, an answer as JSON on each line of its
// output. It is what the tests of firstlight's YAML are compared with.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
	kubernetes "sigs.k8s.io/yaml"
)

// answer is what both libraries make of a text.
type answer struct {
	// Kubernetes is the JSON of the first document.
	Kubernetes      json.RawMessage `json:"kubernetes,omitempty"`
	KubernetesError string          `json:"kubernetesError,omitempty"`
	// Talos has the documents before the first error, with types that JSON would lose.
	Talos      []any  `json:"talos"`
	TalosError string `json:"talosError,omitempty"`
}

// value is a document as Talos reads one: keys are always texts, the rest is what it looks like.
type value struct{ any }

func (v *value) UnmarshalYAML(node *yaml.Node) error {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}

	switch node.Kind {
	case yaml.MappingNode:
		var found map[string]*value

		if err := node.Decode(&found); err != nil {
			return err
		}

		v.any = found
	case yaml.SequenceNode:
		var found []*value

		if err := node.Decode(&found); err != nil {
			return err
		}

		v.any = found
	default:
		return node.Decode(&v.any)
	}

	return nil
}

// typed is a value with the names of its types.
func typed(from any) any {
	switch from := from.(type) {
	case nil:
		return []any{"null"}
	case *value:
		if from == nil {
			return typed(nil)
		}

		return typed(from.any)
	case map[string]*value:
		found := map[string]any{}
		for key, each := range from {
			found[key] = typed(each)
		}

		return []any{"map", found}
	case []*value:
		found := []any{}
		for _, each := range from {
			found = append(found, typed(each))
		}

		return []any{"list", found}
	case float64:
		return []any{"float", strconv.FormatFloat(from, 'g', -1, 64)}
	case time.Time:
		return []any{"time", from.Format(time.RFC3339Nano)}
	case string:
		return []any{"text", from}
	case bool:
		return []any{"bool", from}
	default:
		return []any{"int", fmt.Sprint(from)}
	}
}

func read(text []byte) (found answer) {
	converted, err := kubernetes.YAMLToJSON(text)
	if err != nil {
		found.KubernetesError = err.Error()
	} else {
		found.Kubernetes = converted
	}

	found.Talos = []any{}

	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var node yaml.Node

		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}

		document, err := construct(&node, err)
		if err != nil {
			found.TalosError = err.Error()

			break
		}

		found.Talos = append(found.Talos, typed(document))
	}

	return found
}

// construct reads a document twice: without types aliases are counted, and those that contain themselves are found.
func construct(node *yaml.Node, err error) (*value, error) {
	var (
		untyped  any
		document value
	)

	if err == nil {
		err = node.Decode(&untyped)
	}

	if err == nil {
		err = node.Decode(&document)
	}

	return &document, err
}

// guarded turns a panic of a library into an error: it is no answer either.
func guarded(text []byte) (found answer) {
	defer func() {
		if panicked := recover(); panicked != nil {
			message := fmt.Sprint("panic: ", panicked)
			found = answer{KubernetesError: message, TalosError: message, Talos: []any{}}
		}
	}()

	return read(text)
}

func run() error {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)

	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		text, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(line)))
		if err != nil {
			return err
		}

		if err := out.Encode(guarded(text)); err != nil {
			return err
		}
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
