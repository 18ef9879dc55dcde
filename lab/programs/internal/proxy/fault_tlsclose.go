package proxy

import (
	"errors"
	"fmt"
	"net/http"
)

// tlsClose ends the TLS connection in good order (close_notify), but at the wrong time.
type tlsClose struct {
	quiet
	// At "headers": the request is forwarded, and the headers of its answer stop half way.
	// At "start": nothing is forwarded and nothing answered.
	At string `json:"at"`
}

func (f *tlsClose) check() error {
	if f.At != "headers" && f.At != "start" {
		return errors.New(`at: write "headers" (forwarded, cut within the answer's headers) or "start" (nothing forwarded)`)
	}
	return nil
}

func (f *tlsClose) before(x *exchange, _ *hit) progress {
	if f.At == "headers" {
		return forwards
	}
	x.receive()
	x.abort()
	return answered
}

func (f *tlsClose) after(x *exchange, _ *hit, answer *http.Response) {
	answer.Body.Close()
	if socket, _, err := http.NewResponseController(x).Hijack(); err == nil {
		fmt.Fprintf(socket, "HTTP/1.1 %d %s\r\nContent-Type: appli", answer.StatusCode, http.StatusText(answer.StatusCode))
		socket.Close()
	}
	x.abort()
}
