package proxy

import (
	"context"
	"io"
	"net/http"
	"time"
)

// exchange is one request, its answer, and what the rules did to it.
type exchange struct {
	proxy    *Proxy
	conn     *connection
	in       *http.Request
	request  Request
	identity *identity
	user     string
	started  time.Time

	// Of the rules that fired, the one that may change the answer; the others only delay.
	hit    *hit
	faults []string

	writer http.ResponseWriter
	status int
	bytes  int64
	stream *watchStream
}

type exchangeKey struct{}

func withExchange(x *exchange) *http.Request {
	return x.in.WithContext(context.WithValue(x.in.Context(), exchangeKey{}, x))
}

func exchangeOf(ctx context.Context) *exchange {
	return ctx.Value(exchangeKey{}).(*exchange)
}

// Header, Write, WriteHeader and Unwrap make the exchange the ResponseWriter that counts.

func (x *exchange) Header() http.Header { return x.writer.Header() }

func (x *exchange) Unwrap() http.ResponseWriter { return x.writer }

func (x *exchange) WriteHeader(status int) {
	if status >= 200 {
		x.status = status
	}
	x.writer.WriteHeader(status)
}

func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.writer.Write(p)
	x.bytes += int64(n)
	return n, err
}

// reset ends the exchange with RST. It does not return.
func (x *exchange) reset() {
	x.conn.reset()
	x.abort()
}

// abort ends the exchange and closes the connection. It does not return:
// net/http knows this panic and says nothing about it.
func (x *exchange) abort() {
	panic(http.ErrAbortHandler)
}

// receive reads the rest of the request body. Only then does net/http watch for the
// client leaving, and only then does a close reach the client as close_notify and FIN:
// the kernel sends RST instead while there is something unread.
func (x *exchange) receive() {
	io.Copy(io.Discard, x.in.Body)
}

// send writes the header and the beginning of an answer at once.
func (x *exchange) send(answer *http.Response, body []byte) {
	header := x.Header()
	for name, values := range answer.Header {
		header[name] = values
	}
	x.WriteHeader(answer.StatusCode)
	x.Write(body)
	http.NewResponseController(x).Flush()
}

// wait reports false if the client left, or stop was closed, before the time was over.
func (x *exchange) wait(duration time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	case <-x.in.Context().Done():
		return false
	}
}

// isUpgrade tells of an answer after which the connection no longer speaks HTTP.
func isUpgrade(answer *http.Response) bool {
	return answer.StatusCode == http.StatusSwitchingProtocols
}

// isStream tells of an answer that may never end.
func (x *exchange) isStream() bool {
	return x.request.Class == Watch || x.request.Subresource == "log"
}
