package proxy

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// slow lets the body of the answer through at a fixed pace.
type slow struct {
	quiet
	BytesPerSecond int `json:"bytesPerSecond"`
}

func (f *slow) check() error {
	if f.BytesPerSecond < 1 {
		return errors.New("bytesPerSecond: write at least 1")
	}
	return nil
}

func (f *slow) after(x *exchange, h *hit, answer *http.Response) {
	if isUpgrade(answer) {
		return
	}
	answer.ContentLength = -1 // makes ReverseProxy hand on each piece at once; the header stays
	answer.Body = &pacedBody{ReadCloser: answer.Body, x: x, perSecond: f.BytesPerSecond, stop: h.rule.cleared}
}

// pacedBody hands out a tenth of a second's worth at a time, and waits after each.
type pacedBody struct {
	io.ReadCloser
	x         *exchange
	perSecond int
	stop      <-chan struct{} // the rule was cleared: the rest comes at full speed
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.perSecond/10+1)])
	b.x.wait(time.Duration(n)*time.Second/time.Duration(b.perSecond), b.stop)
	if left := b.x.in.Context().Err(); left != nil {
		return 0, left // a client that is only about to close would still read the rest, all at once
	}
	return n, err
}
