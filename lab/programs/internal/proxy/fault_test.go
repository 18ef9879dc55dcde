package proxy

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const pods = "/api/v1/namespaces/a/pods"

// counted is an API server that answers with the number of the request.
func counted(count *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind": "PodList", "number": `+strconv.FormatInt(count.Add(1), 10)+`}`)
	}
}

// Whether the effect has happened is what tells these apart.
func TestResets(t *testing.T) {
	for _, test := range []struct {
		rule    string
		reached int64
	}{
		{`{"fault": "reset-before", "times": 1}`, 0},
		{`{"fault": "reset-after", "times": 1}`, 1},
	} {
		var count atomic.Int64
		s := newStack(t, counted(&count))
		s.fault(test.rule)

		_, err := s.client.Post(s.url+pods, "application/json", strings.NewReader(`{}`))

		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: the client sees %v", test.rule, err)
		}
		if count.Load() != test.reached {
			t.Errorf("%s: %d requests reached the API server", test.rule, count.Load())
		}
		if _, _, err := s.get(pods); err != nil {
			t.Errorf("%s: the next request fails: %v", test.rule, err)
		}
	}
}

func TestTruncate(t *testing.T) {
	var count atomic.Int64
	whole := `{"kind": "PodList", "number": 1}`
	for rule, want := range map[string]string{
		`{"fault": "truncate"}`:                whole[:len(whole)/2],
		`{"fault": "truncate", "bytes": 5}`:    whole[:5],
		`{"fault": "truncate", "bytes": 0}`:    "",
		`{"fault": "truncate", "bytes": 5000}`: whole[:len(whole)-1],
	} {
		count.Store(0)
		s := newStack(t, counted(&count))
		s.fault(rule)

		answer, body, err := s.get(pods)

		if !errors.Is(err, io.ErrUnexpectedEOF) || body != want || answer.ContentLength != int64(len(whole)) {
			t.Errorf("%s: %q of %d bytes promised, %v", rule, body, answer.ContentLength, err)
		}
	}
}

func TestStatus(t *testing.T) {
	for code, known := range reasons {
		for _, reason := range known {
			var count atomic.Int64
			s := newStack(t, counted(&count))
			s.fault(`{"fault": "status", "code": ` + strconv.Itoa(code) + `, "reason": "` + reason + `", "retryAfter": 7}`)

			answer, body, err := s.get("/apis/apps/v1/namespaces/a/deployments/d")

			if err != nil {
				t.Fatal(err)
			}
			var status kubeStatus
			if err := json.Unmarshal([]byte(body), &status); err != nil {
				t.Fatal(err)
			}
			want := statusDetails{Name: "d", Group: "apps", Kind: "deployments", RetryAfterSeconds: 7}
			if answer.StatusCode != code || status.Code != code || status.Kind != "Status" || status.Reason != reason || *status.Details != want {
				t.Errorf("%d %s: %d %s", code, reason, answer.StatusCode, body)
			}
			if answer.Header.Get("Retry-After") != "7" || count.Load() != 0 {
				t.Errorf("%d: Retry-After %q, %d forwarded", code, answer.Header.Get("Retry-After"), count.Load())
			}
		}
	}
}

func TestLatency(t *testing.T) {
	var count atomic.Int64
	s := newStack(t, counted(&count))
	s.fault(`{"fault": "latency", "milliseconds": 30, "jitter": 10}`)
	s.fault(`{"fault": "status", "code": 500}`)

	begin := time.Now()
	answer, _, err := s.get(pods)

	if err != nil || answer.StatusCode != 500 || time.Since(begin) < 30*time.Millisecond {
		t.Errorf("%v after %s, %v; the rule after a delay applies too", answer.StatusCode, time.Since(begin), err)
	}
	if records := s.records(1); len(records[0].Faults) != 2 {
		t.Errorf("recorded faults %v", records[0].Faults)
	}
}

func TestBlackhole(t *testing.T) {
	var count atomic.Int64
	s := newStack(t, counted(&count))

	s.fault(`{"fault": "blackhole", "milliseconds": 30, "times": 1, "id": "short"}`)
	begin := time.Now()
	if _, _, err := s.get(pods); !errors.Is(err, syscall.ECONNRESET) || time.Since(begin) < 30*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(begin))
	}

	id := s.fault(`{"fault": "blackhole"}`)
	held := make(chan error)
	go func() {
		_, err := s.client.Post(s.url+pods, "application/json", strings.NewReader(`{}`))
		held <- err
	}()
	await(t, "the request to be held", func() bool { return s.proxy.recorder.stats().Hits["blackhole"] == 2 })
	s.control("DELETE", "/faults/"+id, "", nil)
	if err := <-held; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("cleared, and the client sees %v", err)
	}
	if count.Load() != 0 {
		t.Errorf("%d requests reached the API server", count.Load())
	}
}

func TestBlackholeEndsWhenTheClientLeaves(t *testing.T) {
	s := newStack(t, counted(new(atomic.Int64)))
	s.fault(`{"fault": "blackhole"}`)
	s.client.Timeout = 20 * time.Millisecond

	if _, err := s.client.Post(s.url+pods, "application/json", strings.NewReader(`{}`)); err == nil {
		t.Error("answered")
	}
	await(t, "the request to end", func() bool { return s.proxy.recorder.stats().InFlight[Create] == 0 })
}

func TestSlow(t *testing.T) {
	s := newStack(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 300)) })
	s.fault(`{"fault": "slow", "bytesPerSecond": 3000}`)

	begin := time.Now()
	_, body, err := s.get(pods)

	if passed := time.Since(begin); err != nil || len(body) != 300 || passed < 95*time.Millisecond {
		t.Errorf("%d bytes in %s, %v", len(body), passed, err)
	}
}

// The rest of a slow answer would take minutes: only a stream can show its beginning now.
func TestSlowIsAStream(t *testing.T) {
	s := newStack(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Write(make([]byte, 1000))
	})
	id := s.fault(`{"fault": "slow", "bytesPerSecond": 10}`)
	answer, err := s.client.Get(s.url + pods)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := answer.Body.Read(make([]byte, 100)); n == 0 || n > 10 {
		t.Errorf("%d bytes at once, %v", n, err)
	}
	s.control("DELETE", "/faults/"+id, "", nil)
	if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) < 900 {
		t.Errorf("cleared, then %d bytes, %v", len(rest), err)
	}
}

// close_notify comes before the close, and until then the client reads on.
func TestSlowStaysSlowForAClientThatIsLeaving(t *testing.T) {
	s := newStack(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1000)) })
	s.fault(`{"fault": "slow", "bytesPerSecond": 10}`)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), s.client.Transport.(*http.Transport).TLSClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", pods)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.CloseWrite()
	if body, err := io.ReadAll(answer.Body); err == nil || len(body) > 100 {
		t.Errorf("%d bytes of an answer that takes 100 s, %v", len(body), err)
	}
}

func TestTLSClose(t *testing.T) {
	for rule, reached := range map[string]int64{
		`{"fault": "tls-close", "at": "start"}`: 0,
		`{"fault": "tls-close"}`:                1,
	} {
		var count atomic.Int64
		s := newStack(t, counted(&count))
		s.fault(rule)

		_, err := s.client.Post(s.url+pods, "application/json", strings.NewReader(`{}`))

		// A TCP close without close_notify would read "unexpected EOF" at the start, too;
		// crypto/tls answers a plain EOF only to a proper close.
		want := io.EOF
		if reached == 1 {
			want = io.ErrUnexpectedEOF
		}
		if !errors.Is(err, want) || count.Load() != reached {
			t.Errorf("%s: the client sees %v, %d reached the API server", rule, err, count.Load())
		}
	}
}
