package proxy

import (
	"net/http"
	"time"
)

// A fault breaks one exchange. Its exported fields are its parameters in the rule.
type fault interface {
	// check refuses values that make no sense, saying what to write.
	check() error
	// possible tells whether it can happen to this request at all.
	possible(x *exchange) bool
	// before runs ahead of forwarding.
	before(x *exchange, h *hit) progress
	// after may change the answer of the API server, whose body may be an endless stream.
	// To break the exchange off it closes that body and calls x.reset or x.abort.
	after(x *exchange, h *hit, answer *http.Response)
}

type progress bool

const (
	forwards progress = false
	answered progress = true
)

// quiet does nothing; faults embed it and replace what they need.
type quiet struct{}

func (quiet) check() error                          { return nil }
func (quiet) possible(*exchange) bool               { return true }
func (quiet) before(*exchange, *hit) progress       { return forwards }
func (quiet) after(*exchange, *hit, *http.Response) {}

type kind struct {
	name    string
	make    func() fault
	only    Class // the one class to which it can happen
	example string
}

// kinds is every fault there is. It is filled by init, since parsing a rule reads it.
var kinds []kind

func init() {
	kinds = []kind{
		{"latency", func() fault { return &latency{} }, "",
			`{"fault": "latency", "milliseconds": 20, "jitter": 5}`},
		{"reset-before", func() fault { return &resetBefore{} }, "",
			`{"fault": "reset-before", "match": {"classes": ["create"]}, "times": 1}`},
		{"reset-after", func() fault { return &resetAfter{} }, "",
			`{"fault": "reset-after", "match": {"classes": ["update"], "apply": true}, "skip": 2, "times": 1}`},
		{"truncate", func() fault { return &truncate{} }, "",
			`{"fault": "truncate", "bytes": 100, "match": {"classes": ["list"]}}`},
		{"status", func() fault { return &status{} }, "",
			`{"fault": "status", "code": 429, "retryAfter": 1, "rate": 0.1}`},
		{"blackhole", func() fault { return &blackhole{} }, "",
			`{"fault": "blackhole", "milliseconds": 30000, "times": 1}`},
		{"slow", func() fault { return &slow{} }, "",
			`{"fault": "slow", "bytesPerSecond": 1024, "match": {"path": "/openapi/"}}`},
		{"tls-close", func() fault { return &tlsClose{At: "headers"} }, "",
			`{"fault": "tls-close", "at": "headers"}`},
		{"watch-cut", func() fault { return &watchCut{} }, Watch,
			`{"fault": "watch-cut", "afterEvents": 3, "match": {"resources": ["pods"]}}`},
		{"watch-gone", func() fault { return &watchGone{As: "status"} }, Watch,
			`{"fault": "watch-gone", "as": "event", "afterEvents": 2, "times": 1}`},
		{"duplicate-event", func() fault { return &duplicateEvent{Which: "same"} }, Watch,
			`{"fault": "duplicate-event", "which": "older"}`},
		{"stale-list", func() fault { return &staleList{} }, List,
			`{"fault": "stale-list", "match": {"resources": ["deployments.apps"]}}`},
	}
}

func kindOf(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}

func kindNames() []string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.name
	}
	return names
}

func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
