package proxy

import (
	"errors"
	"net/http"
)

// watchCut ends a watch between two events. Those that run already are cut by
// POST /watches/cut.
type watchCut struct {
	quiet
	AfterEvents int  `json:"afterEvents"`     // bookmarks count too
	Reset       bool `json:"reset,omitempty"` // by RST instead of a proper end
}

func (f *watchCut) check() error { return checkEvents(f.AfterEvents) }

func checkEvents(n int) error {
	if n < 0 {
		return errors.New("afterEvents: write how many events pass first, from 0 on")
	}
	return nil
}

func (f *watchCut) after(x *exchange, _ *hit, answer *http.Response) {
	if x.stream == nil {
		return // refused by the API server
	}
	x.stream.endAfter(f.AfterEvents, nil)
	if f.Reset {
		x.stream.atEnd = x.reset
	}
}
