package manifests

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// apiPoll is how often a controller looks whether it may begin.
const apiPoll = 500 * time.Millisecond

// Controller runs passes: when it starts, when the manifests changed, and again after an error.
type Controller struct {
	Options

	// API is the config of an administrator's client. Nil without an error means that a pass cannot run yet and nothing is
	// wrong with that: there is no kubeconfig, or etcd is not healthy.
	API func() (*rest.Config, error)
	// Applied gets the IDs of the manifests after a clean pass, if they are others than before.
	Applied func(ids []string)

	mu        sync.Mutex
	manifests []Manifest
	set       bool
	wake      chan struct{}
}

// Set gives the controller the manifests; the same ones again change nothing.
func (c *Controller) Set(manifests []Manifest) {
	c.mu.Lock()
	same := c.set && reflect.DeepEqual(c.manifests, manifests)
	c.manifests, c.set = clone(manifests), true
	c.mu.Unlock()

	if !same {
		notify(c.signal())
	}
}

// Run waits for manifests and runs passes until the context ends. As in Talos, a change does not shorten the wait after an
// error.
func (c *Controller) Run(ctx context.Context) {
	wake := c.signal()
	delay := newBackoff()
	log := logger{applyController, c.Log}

	var reported []string

	for first := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}

		ids, err := c.once(ctx)

		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.failed(err)

			if !pause(ctx, delay.NextBackOff(), nil) {
				return
			}

			notify(wake)

			continue
		}

		delay.Reset()

		if c.Applied != nil && (first || !slices.Equal(reported, ids)) {
			first, reported = false, ids
			c.Applied(ids)
		}
	}
}

// once runs a pass over the manifests of the moment and gives their IDs.
func (c *Controller) once(ctx context.Context) ([]string, error) {
	api, err := c.API()
	for api == nil && err == nil {
		if !pause(ctx, apiPoll, nil) {
			return nil, ctx.Err()
		}

		api, err = c.API()
	}

	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	manifests := c.manifests
	c.mu.Unlock()

	if len(manifests) > 0 {
		if err := Apply(ctx, api, manifests, c.Options); err != nil {
			return nil, err
		}
	}

	ids := make([]string, len(manifests))
	for i, manifest := range manifests {
		ids[i] = manifest.ID
	}

	slices.Sort(ids)

	return ids, nil
}

func (c *Controller) signal() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.wake == nil {
		c.wake = make(chan struct{}, 1)
	}

	return c.wake
}
