package pki

import (
	"context"
	"time"

	"github.com/siderolabs/crypto/x509"
)

const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// Keep issues certificates now and then again at half of their validity, until ctx is done. What failed is tried again
// soon, since a worker cannot serve its API before a control plane has signed its certificate.
//
// Talos's certificates live for a day, and labs may run for longer.
func Keep(ctx context.Context, issue func(context.Context) error, failed func(error)) {
	retry := firstRetry

	for {
		pause := x509.DefaultCertificateValidityDuration / 2

		if err := issue(ctx); err == nil {
			retry = firstRetry
		} else {
			if ctx.Err() != nil {
				return
			}

			failed(err)

			pause, retry = retry, min(2*retry, lastRetry)
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
