package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestExamplesAreRules(t *testing.T) {
	for _, kind := range kinds {
		rule, err := ParseRule([]byte(kind.example))
		if err != nil {
			t.Errorf("%s: %v", kind.name, err)
			continue
		}
		shown, _ := json.Marshal(rule)
		if again, err := ParseRule(shown); err != nil || again.key != rule.key {
			t.Errorf("%s is shown as %s: %v", kind.name, shown, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := newStack(t, counted(new(atomic.Int64)))
	for rule, hint := range map[string]string{
		`[]`:                                 "JSON object",
		`{}`:                                 "write one of latency, reset-before",
		`{"fault": "explode"}`:               "write one of latency",
		`{"fault": "latency"}`:               "write milliseconds",
		`{"fault": "latency", "seconds": 1}`: `unknown field "seconds"; for example {"fault": "latency", "milliseconds"`,
		`{"fault": "latency", "milliseconds": "20"}`:                     "for example",
		`{"fault": "reset-before", "code": 500}`:                         `unknown field "code"`,
		`{"fault": "status", "code": 418}`:                               "401 403 409 429 500 503 504",
		`{"fault": "status", "code": 409, "reason": "Gone"}`:             "Conflict or AlreadyExists",
		`{"fault": "status", "code": 429, "retryAfter": -1}`:             "seconds",
		`{"fault": "truncate", "bytes": -1}`:                             "from 0 on",
		`{"fault": "slow"}`:                                              "at least 1",
		`{"fault": "blackhole", "milliseconds": -1}`:                     "0 for until",
		`{"fault": "tls-close", "at": "end"}`:                            `"headers"`,
		`{"fault": "watch-cut", "afterEvents": -1}`:                      "from 0 on",
		`{"fault": "watch-gone", "afterEvents": 1}`:                      `"as": "event"`,
		`{"fault": "watch-gone", "as": "x"}`:                             `"status"`,
		`{"fault": "duplicate-event", "which": "x"}`:                     `"older"`,
		`{"fault": "stale-list", "match": {"classes": ["get"]}}`:         "only to class list",
		`{"fault": "reset-before", "match": {"classes": ["apply"]}}`:     "write some of discovery, get",
		`{"fault": "reset-before", "match": {"verbs": ["get"]}}`:         `unknown field "verbs"`,
		`{"fault": "reset-before", "match": {"path": "api"}}`:            "begins with /",
		`{"fault": "reset-before", "match": {"resources": ["/status"]}}`: "names no resource",
		`{"fault": "reset-before", "skip": -1}`:                          "skip",
		`{"fault": "reset-before", "times": -1}`:                         "times",
		`{"fault": "reset-before", "rate": 1.5}`:                         "from 0 to 1",
		`{"fault": "reset-before", "id": "a b"}`:                         "letters",
	} {
		var refused struct{ Error string }
		if code := s.control("POST", "/faults", rule, &refused); code != http.StatusBadRequest || !strings.Contains(refused.Error, hint) {
			t.Errorf("%s: %d %q", rule, code, refused.Error)
		}
	}

	s.fault(`{"fault": "reset-before", "id": "x"}`)
	for _, test := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", "/faults", `{"fault": "reset-before", "id": "x"}`, 409},
		{"DELETE", "/faults/y", "", 404},
		{"DELETE", "/faults/x", "", 200},
		{"POST", "/seed", `{"seed": -1}`, 400},
		{"POST", "/seed", ``, 400},
		{"GET", "/requests?since=x", ``, 400},
		{"POST", "/watches/cut", `{"all": true}`, 400},
	} {
		if code := s.control(test.method, test.path, test.body, nil); code != test.code {
			t.Errorf("%s %s %s: %d", test.method, test.path, test.body, code)
		}
	}
}

func TestMatching(t *testing.T) {
	s := newStack(t, counted(new(atomic.Int64)))
	for match, hit := range map[string]bool{
		`{}`:                                             true,
		`{"users": ["bob", "al*"]}`:                      true,
		`{"users": ["bob"]}`:                             false,
		`{"path": "/api/v1/namespaces/a/"}`:              true,
		`{"path": "/api/v1/*/a/pods"}`:                   true,
		`{"path": "/api/*/pods"}`:                        false,
		`{"path": "/api/**/pods"}`:                       true,
		`{"resources": ["pods"]}`:                        true,
		`{"resources": ["pods.apps"]}`:                   false,
		`{"resources": ["pods/*"]}`:                      false,
		`{"resources": ["*"]}`:                           true,
		`{"apply": true}`:                                false,
		`{"apply": false, "classes": ["watch", "list"]}`: true,
	} {
		id := s.fault(`{"fault": "status", "code": 503, "match": ` + match + `}`)
		if got := s.outcomes(1)[0]; got != hit {
			t.Errorf("%s: %v", match, got)
		}
		s.control("DELETE", "/faults/"+id, "", nil)
	}
}

func TestRequestsSince(t *testing.T) {
	s := newStack(t, counted(new(atomic.Int64)))
	s.fault(`{"fault": "status", "code": 503, "skip": 1, "times": 1, "id": "one"}`)
	s.outcomes(3)
	s.records(3)

	var shown struct {
		Requests   []Record
		Last, Lost uint64
	}
	s.control("GET", "/requests?since=1", "", &shown)

	if shown.Last != 3 || shown.Lost != 0 || len(shown.Requests) != 2 {
		t.Fatalf("%+v", shown)
	}
	if r := shown.Requests[0]; r.Number != 2 || r.User != "alice" || r.Path != pods || r.Class != List || r.Status != 503 || r.Faults[0] != "one" || r.Bytes == 0 {
		t.Errorf("%+v", r)
	}
	ring := s.proxy.recorder
	for range keptRecords {
		ring.end(&exchange{in: &http.Request{URL: &url.URL{Path: "/"}}})
	}
	s.control("GET", "/requests", "", &shown)
	if shown.Lost != 3 || len(shown.Requests) != keptRecords || shown.Requests[0].Number != 4 || shown.Last != keptRecords+3 {
		t.Errorf("%d kept from %d to %d, %d lost", len(shown.Requests), shown.Requests[0].Number, shown.Last, shown.Lost)
	}
}

// TestRun starts the program's whole wiring, with a socket whose path is too long to bind.
func TestRun(t *testing.T) {
	s := newStack(t, counted(new(atomic.Int64)))
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	os.Mkdir(dir, 0o700)
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		return path
	}
	pair := func(name string, c tls.Certificate) (string, string) {
		key, _ := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
		return file(name+".crt", "CERTIFICATE", c.Certificate[0]), file(name+".key", "PRIVATE KEY", key)
	}
	config := Config{Listen: "127.0.0.1:0", Upstream: s.upstream.URL, Control: filepath.Join(dir, "control")}
	config.ClientCA = file("ca.crt", "CERTIFICATE", s.ca.certificate.Raw)
	config.UpstreamCA = config.ClientCA
	config.TLSCert, config.TLSKey = pair("server", s.ca.issue(time.Hour, "server"))
	config.FrontCert, config.FrontKey = pair("front", s.ca.issue(time.Hour, "front"))

	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- Run(ctx, config) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		directory, err := os.Open(dir) // a short name for a long path
		if err != nil {
			return nil, err
		}
		defer directory.Close()
		return net.Dial("unix", "/proc/self/fd/"+strconv.Itoa(int(directory.Fd()))+"/control")
	}}}
	await(t, "the control socket", func() bool {
		answer, err := client.Get("http://control/healthz")
		return err == nil && answer.StatusCode == 200
	})
	if info, _ := os.Stat(config.Control); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if _, err := listenUnix(config.Control); err == nil || !strings.Contains(err.Error(), "another proxy") {
		t.Errorf("a living socket was taken over: %v", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(config.Control); err == nil {
		t.Error("the socket is left")
	}
}
