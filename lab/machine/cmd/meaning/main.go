// Command meaning compares what two machine configs mean to Talos.
//
// Talos asks a config through the accessors of its interface, which answer from documents where there are some and from
// fields of the v1alpha1 document else. Everything that can be asked without an argument is asked of both configs, and
// what is answered differently is printed. So two configs of different forms mean the same if the answers are equal.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
)

// deepest is how far answers are asked in turn; those of Talos end long before.
const deepest = 12

// unused are answers that no machine acts on, each with what it acts on instead.
var unused = map[string]string{
	"Machine.Sysctls":         "SysctlConfig, which joins both forms",
	"Machine.Sysfs":           "SysfsConfig, which joins both forms",
	"Cluster.Discovery":       "DiscoveryServiceConfigs; the registry in Kubernetes works only where discovery is enabled here",
	"DiscoveryServiceConfigs": "the endpoints: names only tell documents apart",
}

// controlPlaneOnly are answers that workers do not act on.
var controlPlaneOnly = []string{"K8sFlannelCNIConfig", "K8sProxyConfig", "K8sCoreDNSConfig"}

// Difference is one question that both answer differently.
type Difference struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Answer is what is printed.
type Answer struct {
	Asked       int          `json:"asked"`
	Differences []Difference `json:"differences"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "meaning:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: meaning BEFORE AFTER")
	}

	before, err := answers(args[0])
	if err != nil {
		return fmt.Errorf("before: %w", err)
	}

	after, err := answers(args[1])
	if err != nil {
		return fmt.Errorf("after: %w", err)
	}

	return json.NewEncoder(os.Stdout).Encode(compare(before, after))
}

func compare(before, after map[string]string) Answer {
	found := Answer{Differences: []Difference{}}

	paths := map[string]bool{}
	for path := range before {
		paths[path] = true
	}

	for path := range after {
		paths[path] = true
	}

	found.Asked = len(paths)

	for path := range paths {
		if before[path] != after[path] && counts(path, before["Machine.Type"]) {
			found.Differences = append(found.Differences, Difference{path, before[path], after[path]})
		}
	}

	sort.Slice(found.Differences, func(i, j int) bool { return found.Differences[i].Path < found.Differences[j].Path })

	return found
}

// counts tells whether a machine of a type acts on an answer.
func counts(path, machineType string) bool {
	first, rest, _ := strings.Cut(path, ".")
	if first == "DiscoveryServiceConfigs" {
		return !strings.HasSuffix(rest, ".Name")
	}

	for name := range unused {
		if path == name || strings.HasPrefix(path, name+".") {
			return false
		}
	}

	return !strings.Contains(machineType, "worker") || !slices.Contains(controlPlaneOnly, first)
}

func answers(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	provider, err := configloader.NewFromBytes(data)
	if err != nil {
		return nil, err
	}

	found := map[string]string{}
	ask(found, "", reflect.ValueOf(provider), reflect.TypeOf((*config.Config)(nil)).Elem(), 0)

	return found, nil
}

// ask calls every method of an interface that wants nothing, and asks what it returns in turn.
func ask(found map[string]string, path string, value reflect.Value, as reflect.Type, depth int) {
	if depth > deepest {
		return
	}

	for i := range as.NumMethod() {
		method := as.Method(i)
		if method.Type.NumIn() > 0 || method.PkgPath != "" || method.Name == "Clone" {
			continue
		}

		here := strings.TrimPrefix(path+"."+method.Name, ".")
		for n, result := range call(found, here, value.MethodByName(method.Name)) {
			if n > 0 {
				here = fmt.Sprintf("%s#%d", here, n)
			}

			note(found, here, result, method.Type.Out(n), depth+1)
		}
	}
}

// call returns nothing where the config panics, which is an answer as well.
func call(found map[string]string, path string, method reflect.Value) (results []reflect.Value) {
	defer func() {
		if failure := recover(); failure != nil {
			found[path] = fmt.Sprintf("panic: %v", failure)
		}
	}()

	return method.Call(nil)
}

func note(found map[string]string, path string, value reflect.Value, as reflect.Type, depth int) {
	switch {
	case as == reflect.TypeOf((*error)(nil)).Elem():
		if !value.IsNil() {
			found[path] = fmt.Sprint(value.Interface())
		}
	case as.Kind() == reflect.Interface && as.NumMethod() > 0:
		if !isNil(value) {
			if asks(as) {
				before := len(found)
				ask(found, path, value.Elem(), as, depth)

				// Something that answers nothing is as good as nothing.
				if len(found) > before {
					found[path] = "is there"
				}
			} else {
				found[path] = plain(value)
			}
		}
	case as.Kind() == reflect.Slice && isAsked(as.Elem()):
		for i := range value.Len() {
			note(found, fmt.Sprintf("%s.%d", path, i), value.Index(i), as.Elem(), depth)
		}
	case as.Kind() == reflect.Map && isAsked(as.Elem()):
		for _, key := range value.MapKeys() {
			note(found, fmt.Sprintf("%s.%v", path, key), value.MapIndex(key), as.Elem(), depth)
		}
	case (as.Kind() == reflect.Slice || as.Kind() == reflect.Map) && value.Len() == 0:
		// Nothing, however it is written.
	default:
		if text := plain(value); text != "null" && text != `""` {
			found[path] = text
		}
	}
}

// isNil knows interfaces that hold a pointer to nothing.
func isNil(value reflect.Value) bool {
	if value.IsNil() {
		return true
	}

	inner := value.Elem()

	return inner.Kind() == reflect.Pointer && inner.IsNil()
}

func isAsked(as reflect.Type) bool {
	return as.Kind() == reflect.Interface && as.NumMethod() > 0 && asks(as)
}

// asks tells whether an interface has a method that wants nothing, besides being printed.
func asks(as reflect.Type) bool {
	for i := range as.NumMethod() {
		if method := as.Method(i); method.Type.NumIn() == 0 && method.Type.NumOut() > 0 && method.Name != "String" {
			return true
		}
	}

	return false
}

func plain(value reflect.Value) string {
	data, err := json.Marshal(value.Interface())
	if err != nil || string(data) == "{}" {
		return fmt.Sprintf("%+v", value.Interface())
	}

	return string(data)
}
