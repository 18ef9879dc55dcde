package proxy

import (
	"errors"
	"net/http"
)

// watchGone tells a watcher that its resourceVersion is too old.
type watchGone struct {
	quiet
	// As "status": HTTP 410 instead of a stream; nothing is forwarded.
	// As "event": an ERROR event within the stream, and its end.
	As          string `json:"as"`
	AfterEvents int    `json:"afterEvents,omitempty"`
}

const goneMessage = "too old resource version: 1 (2)" // the form in which the API server says it

func (f *watchGone) check() error {
	switch {
	case f.As != "status" && f.As != "event":
		return errors.New(`as: write "status" (HTTP 410 at the start) or "event" (an ERROR event with code 410)`)
	case f.As == "status" && f.AfterEvents != 0:
		return errors.New(`afterEvents: goes with "as": "event" only`)
	}
	return checkEvents(f.AfterEvents)
}

func (f *watchGone) before(x *exchange, _ *hit) progress {
	if f.As == "event" {
		return forwards
	}
	newStatus(http.StatusGone, "Expired", goneMessage).writeTo(x)
	return answered
}

func (f *watchGone) after(x *exchange, _ *hit, answer *http.Response) {
	if x.stream == nil {
		return // refused by the API server
	}
	x.stream.endAfter(f.AfterEvents, x.stream.frames.errorEvent(newStatus(http.StatusGone, "Expired", goneMessage)))
}
