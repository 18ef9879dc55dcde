package manifests

import (
	"context"
	"net/http"
	"sync"

	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/config"

	"firstlight.dev/lab/machine/internal/behaviour"
)

// Renderer keeps the manifests of a machine equal to its config, and tries failed downloads again.
type Renderer struct {
	// Does is what the version of Talos does that runs.
	Does behaviour.Behaviour
	// State is where the manifests are published.
	State state.State
	// Changed gets the published manifests after every render, such as Controller.Set.
	Changed func([]Manifest)
	// Log gets lines for dmesg and the log of controller-runtime.
	Log func(format string, args ...any)
	// Client downloads extra manifests; nil means the default one.
	Client *http.Client

	mu   sync.Mutex
	cfg  config.Provider
	wake chan struct{}
}

// Set gives the renderer the config to follow; nil takes all manifests away.
func (r *Renderer) Set(cfg config.Provider) {
	r.mu.Lock()
	r.cfg = cfg
	r.mu.Unlock()

	notify(r.signal())
}

// Run renders after every Set until the context ends, and again after a failure.
func (r *Renderer) Run(ctx context.Context) {
	wake := r.signal()
	delay := newBackoff()

	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}

		for !r.once(ctx) {
			if !pause(ctx, delay.NextBackOff(), wake) {
				return
			}
		}

		delay.Reset()
	}
}

// once renders and publishes; false if it must be done again.
func (r *Renderer) once(ctx context.Context) bool {
	r.mu.Lock()
	cfg := r.cfg
	r.mu.Unlock()

	rendered, err := Render(ctx, cfg, r.Does, r.Client, r.Log)
	if err == nil {
		err = Publish(ctx, r.State, rendered)
	}

	var published []Manifest

	if err == nil {
		published, err = Published(ctx, r.State)
	}

	if ctx.Err() != nil {
		return false
	}

	if err != nil {
		logger{manifestController, r.Log}.failed(err)

		return false
	}

	if r.Changed != nil {
		r.Changed(published)
	}

	if rendered.Failed != nil {
		logger{extraController, r.Log}.failed(rendered.Failed)
	}

	return rendered.Failed == nil
}

func (r *Renderer) signal() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.wake == nil {
		r.wake = make(chan struct{}, 1)
	}

	return r.wake
}

// notify wakes whoever listens, once, however often it is called.
func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
