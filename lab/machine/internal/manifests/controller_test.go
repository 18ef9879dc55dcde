package manifests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// status is where a controller reports in a test.
type status struct {
	mu      sync.Mutex
	reports [][]string
}

func (s *status) applied(ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.reports = append(s.reports, ids)
}

func (s *status) is(ids ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return len(s.reports) > 0 && slices.Equal(s.reports[len(s.reports)-1], ids)
}

func TestDefinitionsAndTheirObjectsConverge(t *testing.T) {
	for _, mode := range []Mode{CreateOnly, Inventory} {
		t.Run(string(mode), func(t *testing.T) {
			c := useCluster(t)
			group := fmt.Sprintf("t%d.example.internal", time.Now().UnixNano())
			// The object comes before its definition, which does not matter.
			objects, err := parse([]byte(`
apiVersion: ` + group + `/v1
kind: Widget
metadata: {name: converges}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object}}
`))
			if err != nil {
				t.Fatal(err)
			}

			log, reported := &lines{}, &status{}
			controller := &Controller{
				Options: Options{Mode: mode, Log: log.write},
				API:     func() (*rest.Config, error) { return c.api, nil },
				Applied: reported.applied,
			}

			go controller.Run(t.Context())
			controller.Set([]Manifest{{ID: "99-widgets", Extra: true, Objects: objects}})
			until(t, "a clean pass", func() bool { return reported.is("99-widgets") })

			widgets := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
			if _, err := c.objects.Resource(widgets).Namespace("default").Get(t.Context(), "converges", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}

			for _, want := range []string{
				"created apiextensions.k8s.io/v1/CustomResourceDefinition/widgets." + group,
				"created " + group + "/v1/Widget/converges",
				`controller failed {"component": "controller-runtime", "controller": "k8s.ManifestApplyController", "error": "1 error occurred:\n\t* error creating mapping for object ` + group + "/v1/Widget/converges",
			} {
				if log.count(want) == 0 {
					t.Errorf("no line with %s in\n%s", want, log)
				}
			}
		})
	}
}

func TestPassesHaveReasons(t *testing.T) {
	c := useCluster(t)
	reported := &status{}

	var (
		passes atomic.Int32
		api    atomic.Pointer[rest.Config]
	)

	controller := &Controller{
		Options: Options{Mode: CreateOnly, Lock: func(context.Context) (func(), error) {
			passes.Add(1)

			return func() {}, nil
		}},
		API:     func() (*rest.Config, error) { return api.Load(), nil },
		Applied: reported.applied,
	}

	go controller.Run(t.Context())

	a := inline("99-a", "v1 ConfigMap default/reasons-a")
	controller.Set([]Manifest{a})

	// The kubeconfig appears later.
	api.Store(c.api)
	until(t, "the first pass", func() bool { return reported.is("99-a") })

	// Neither a deleted object nor the same manifests again are a reason; the next change is.
	c.delete(t, "reasons-a")
	controller.Set([]Manifest{a})
	controller.Set([]Manifest{a, inline("99-b", "v1 ConfigMap default/reasons-b")})
	until(t, "the second pass", func() bool { return reported.is("99-a", "99-b") })

	if got := passes.Load(); got != 2 {
		t.Errorf("%d passes, want 2", got)
	}

	// In this mode the second pass brings it back, since it looks at everything.
	if c.get(t, "reasons-a") == nil {
		t.Error("the pass did not create what was missing")
	}

	// Nothing to apply is clean, too.
	controller.Set(nil)
	until(t, "an empty status", func() bool { return reported.is() })

	if c.get(t, "reasons-b") == nil {
		t.Error("a manifest that left took its object with it")
	}
}

func TestPassesAreTriedAgain(t *testing.T) {
	c := useCluster(t)
	log, reported := &lines{}, &status{}

	var attempts atomic.Int32

	controller := &Controller{
		Options: Options{Mode: Inventory, Log: log.write, Lock: func(context.Context) (func(), error) {
			if attempts.Add(1) == 1 {
				return nil, errors.New("no quorum")
			}

			return func() {}, nil
		}},
		API:     func() (*rest.Config, error) { return c.api, nil },
		Applied: reported.applied,
	}

	go controller.Run(t.Context())
	controller.Set([]Manifest{inline("99-a", "v1 ConfigMap default/again-a")})
	until(t, "a clean pass", func() bool { return reported.is("99-a") })

	if attempts.Load() != 2 || log.count(`"error": "no quorum"}`) != 1 {
		t.Errorf("%d attempts:\n%s", attempts.Load(), log)
	}
}

func TestControllerStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	controller := &Controller{
		Options: Options{Mode: Inventory},
		API:     func() (*rest.Config, error) { return nil, nil },
	}
	controller.Set([]Manifest{inline("99-a", "v1 ConfigMap default/never")})

	stopped := make(chan struct{})

	go func() {
		controller.Run(ctx)
		close(stopped)
	}()

	cancel()
	<-stopped
}

func TestTheSameManifestsAreNoReason(t *testing.T) {
	controller := &Controller{}
	woken := func(names ...string) bool {
		var manifests []Manifest
		for _, name := range names {
			manifests = append(manifests, inline("99-"+name, "v1 ConfigMap default/"+name))
		}

		controller.Set(manifests)

		select {
		case <-controller.signal():
			return true
		default:
			return false
		}
	}

	if !woken() || woken() || !woken("a") || woken("a") || !woken("a", "b") || !woken("b") {
		t.Error("woken by what is not a change, or not by what is one")
	}
}
