package proxy

import (
	"errors"
	"net/http"
)

// duplicateEvent delivers events of a watch more than once.
type duplicateEvent struct {
	quiet
	// Which "same": each event comes twice in a row.
	// Which "older": after each event, the one before it comes again.
	Which string `json:"which"`
}

func (f *duplicateEvent) check() error {
	if f.Which != "same" && f.Which != "older" {
		return errors.New(`which: write "same" (each event twice) or "older" (after each event the one before it again)`)
	}
	return nil
}

func (f *duplicateEvent) after(x *exchange, _ *hit, answer *http.Response) {
	if x.stream == nil {
		return // refused by the API server
	}
	var previous []byte
	x.stream.change = func(event []byte) []byte {
		repeated := event
		if f.Which == "older" {
			repeated, previous = previous, event
		}
		return append(event[:len(event):len(event)], repeated...)
	}
}
