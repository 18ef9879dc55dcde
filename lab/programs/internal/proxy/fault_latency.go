package proxy

import "errors"

// latency holds the request back before it is forwarded. Rules after it still apply.
type latency struct {
	quiet
	Milliseconds float64 `json:"milliseconds"`
	Jitter       float64 `json:"jitter,omitempty"` // up to so many more
}

func (f *latency) check() error {
	if f.Milliseconds < 0 || f.Jitter < 0 || f.Milliseconds+f.Jitter == 0 {
		return errors.New("write milliseconds, and if wanted jitter, above 0")
	}
	return nil
}

func (f *latency) before(x *exchange, h *hit) progress {
	if !x.wait(milliseconds(f.Milliseconds+f.Jitter*h.again().fraction()), nil) {
		x.abort() // the client has left
	}
	return forwards
}
