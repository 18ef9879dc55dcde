package manifests

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// newBackoff is how Talos spaces the restarts of a failing controller: from half a second to about a minute, for ever.
func newBackoff() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0))
}

// pause waits; false if the context ended first. An early signal, if there is a channel for it, ends the wait.
func pause(ctx context.Context, interval time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(interval)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-early:
	}

	return true
}
