package proxy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

const watchPods = pods + "?watch=true"

func event(n int) string { return fmt.Sprintf(`{"type":"ADDED","object":{"n":%d}}`+"\n", n) }

// sent is an API server that sends so many events and then stays silent until the
// watch is closed; closed tells that it was.
func sent(n int, closed chan<- bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		for i := range n {
			io.WriteString(w, event(i))
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		closed <- true
	}
}

// An event that waited for the next one would block this test for ever.
func TestEventsComeAtOnce(t *testing.T) {
	next := make(chan string)
	s := newStack(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for text := range next {
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
		}
	})
	go func() { next <- "" }() // headers only
	answer, err := s.client.Get(s.url + watchPods)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	reader := bufio.NewReader(answer.Body)
	for i := range 3 {
		next <- event(i)
		if line, err := reader.ReadString('\n'); line != event(i) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if flying := s.proxy.recorder.stats().InFlight[Watch]; flying != 1 {
		t.Errorf("%d watches in flight", flying)
	}
	close(next)
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestClientLeavingReachesTheServer(t *testing.T) {
	closed := make(chan bool, 1)
	s := newStack(t, sent(1, closed))
	answer, err := s.client.Get(s.url + watchPods)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	<-closed
}

func TestWatchFaults(t *testing.T) {
	gone := `{"object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"` + goneMessage + `","reason":"Expired","code":410},"type":"ERROR"}` + "\n"
	for rule, want := range map[string]string{
		`{"fault": "watch-cut"}`:                                   "",
		`{"fault": "watch-cut", "afterEvents": 2}`:                 event(0) + event(1),
		`{"fault": "watch-gone", "as": "event"}`:                   gone,
		`{"fault": "watch-gone", "as": "event", "afterEvents": 1}`: event(0) + gone,
	} {
		closed := make(chan bool, 1)
		s := newStack(t, sent(3, closed))
		s.fault(rule)

		_, body, err := s.get(watchPods)

		if err != nil || body != want {
			t.Errorf("%s: %q, %v", rule, body, err)
		}
		<-closed
	}
}

func TestWatchCutByReset(t *testing.T) {
	closed := make(chan bool, 1)
	s := newStack(t, sent(3, closed))
	s.fault(`{"fault": "watch-cut", "afterEvents": 1, "reset": true}`)

	_, body, err := s.get(watchPods)

	if !errors.Is(err, syscall.ECONNRESET) || body != event(0) {
		t.Errorf("%q, %v", body, err)
	}
	<-closed
}

func TestTruncatedEvent(t *testing.T) {
	closed := make(chan bool, 1)
	s := newStack(t, sent(1, closed))
	s.fault(`{"fault": "truncate"}`)

	_, body, err := s.get(watchPods)

	if !errors.Is(err, io.ErrUnexpectedEOF) || body != event(0)[:len(event(0))/2] {
		t.Errorf("%q, %v", body, err)
	}
	<-closed
}

func TestWatchGoneAsStatus(t *testing.T) {
	s := newStack(t, sent(3, nil))
	s.fault(`{"fault": "watch-gone"}`)
	if answer, body, err := s.get(watchPods); err != nil || answer.StatusCode != http.StatusGone || !strings.Contains(body, `"reason":"Expired"`) {
		t.Errorf("%q, %v", body, err)
	}
}

func TestDuplicateEvents(t *testing.T) {
	for rule, want := range map[string]string{
		`{"fault": "duplicate-event"}`:                   event(0) + event(0) + event(1) + event(1) + event(2) + event(2),
		`{"fault": "duplicate-event", "which": "older"}`: event(0) + event(1) + event(0) + event(2) + event(1),
	} {
		s := newStack(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json;stream=watch")
			io.WriteString(w, event(0)+event(1)+event(2))
		})
		s.fault(rule)
		if _, body, err := s.get(watchPods); err != nil || body != want {
			t.Errorf("%s: %q, %v", rule, body, err)
		}
	}
}

func TestCutRunningWatches(t *testing.T) {
	for request, ends := range map[string]func(error) bool{
		"": func(err error) bool { return err == nil },
		`{"match": {"resources": ["pods"]}, "reset": true}`: func(err error) bool { return errors.Is(err, syscall.ECONNRESET) },
	} {
		closed := make(chan bool, 1)
		s := newStack(t, sent(1, closed))
		answer, err := s.client.Get(s.url + watchPods)
		if err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(answer.Body)
		reader.ReadString('\n')

		var done struct{ Cut int }
		s.control("POST", "/watches/cut", `{"match": {"resources": ["nodes"]}}`, &done)
		if done.Cut != 0 {
			t.Error("a watch that does not match was cut")
		}
		s.control("POST", "/watches/cut", request, &done)

		if rest, err := io.ReadAll(reader); done.Cut != 1 || len(rest) > 0 || !ends(err) {
			t.Errorf("%q: %d cut, %q, %v", request, done.Cut, rest, err)
		}
		<-closed
	}
}

// The Kubernetes controllers watch in protobuf.
func TestProtobufWatch(t *testing.T) {
	frame := func(text string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
	}
	s := newStack(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		io.WriteString(w, frame("one\n")+frame("two")+frame(strings.Repeat("3", 100_000)))
	})
	if _, body, err := s.get(watchPods); err != nil || len(body) != 100_000+4+3+12 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	s.fault(`{"fault": "watch-gone", "as": "event", "afterEvents": 2}`)

	_, body, err := s.get(watchPods)

	begin := frame("one\n") + frame("two")
	if err != nil || body != begin+string(protobufFrames{}.errorEvent(newStatus(http.StatusGone, "Expired", goneMessage))) {
		t.Errorf("%q, %v", body, err)
	}
}
