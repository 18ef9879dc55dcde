package proxy

import (
	"errors"
	"math"
	"time"
)

// blackhole takes the request and never answers; at its end the connection is reset.
type blackhole struct {
	quiet
	Milliseconds float64 `json:"milliseconds"` // 0: until the rule is cleared or the client leaves
}

func (f *blackhole) check() error {
	if f.Milliseconds < 0 {
		return errors.New("milliseconds: write how long the request is held, or 0 for until the rule is cleared")
	}
	return nil
}

func (f *blackhole) before(x *exchange, h *hit) progress {
	x.receive()
	held := milliseconds(f.Milliseconds)
	if held == 0 {
		held = time.Duration(math.MaxInt64)
	}
	x.wait(held, h.rule.cleared)
	x.reset()
	return answered
}
