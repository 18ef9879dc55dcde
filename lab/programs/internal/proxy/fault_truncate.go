package proxy

import (
	"errors"
	"io"
	"net/http"
	"strconv"
)

// truncate promises the whole answer and closes the connection within its body.
type truncate struct {
	quiet
	Bytes *int `json:"bytes,omitempty"` // so many arrive; left out: half of the body
}

func (f *truncate) check() error {
	if f.Bytes != nil && *f.Bytes < 0 {
		return errors.New("write bytes from 0 on, or leave it out for half of the body")
	}
	return nil
}

func (f *truncate) after(x *exchange, _ *hit, answer *http.Response) {
	defer answer.Body.Close()
	switch {
	case isUpgrade(answer), x.in.Method == http.MethodHead:
		// There is no body: nothing of the answer arrives.
	case x.isStream():
		x.send(answer, f.beginning(answer.Body))
	default:
		body, err := io.ReadAll(answer.Body)
		if err != nil || len(body) == 0 {
			break
		}
		answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
		x.send(answer, body[:f.keep(len(body))])
	}
	x.abort()
}

// keep always leaves something out, whatever bytes says.
func (f *truncate) keep(whole int) int {
	if f.Bytes == nil {
		return whole / 2
	}
	return min(*f.Bytes, whole-1)
}

// beginning of a stream: the asked number of bytes, or half of what comes first.
// In a watch that is half an event.
func (f *truncate) beginning(stream io.Reader) []byte {
	if f.Bytes != nil {
		begin := make([]byte, *f.Bytes)
		n, _ := io.ReadFull(stream, begin)
		return begin[:n]
	}
	begin := make([]byte, 32<<10)
	n, _ := stream.Read(begin)
	return begin[:n/2]
}
