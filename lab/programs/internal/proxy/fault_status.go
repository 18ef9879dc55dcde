package proxy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// status answers with a Kubernetes Status instead of forwarding.
type status struct {
	quiet
	Code       int    `json:"code"`
	RetryAfter int    `json:"retryAfter,omitempty"` // seconds
	Reason     string `json:"reason,omitempty"`     // left out: the usual one for the code
}

// The reasons with which the API server sends these codes, the usual one first.
var reasons = map[int][]string{
	401: {"Unauthorized"},
	403: {"Forbidden"},
	409: {"Conflict", "AlreadyExists"},
	429: {"TooManyRequests"},
	500: {"InternalError", "ServerTimeout"},
	503: {"ServiceUnavailable"},
	504: {"Timeout"},
}

func (f *status) check() error {
	known, ok := reasons[f.Code]
	if !ok {
		codes := slices.Sorted(maps.Keys(reasons))
		return fmt.Errorf("code: %d; write one of %s", f.Code, strings.Trim(fmt.Sprint(codes), "[]"))
	}
	if f.Reason == "" {
		f.Reason = known[0]
	}
	if !slices.Contains(known, f.Reason) {
		return fmt.Errorf("reason: %q does not go with %d; leave it out or write %s", f.Reason, f.Code, strings.Join(known, " or "))
	}
	if f.RetryAfter < 0 {
		return fmt.Errorf("retryAfter: %d; write seconds from 0 on", f.RetryAfter)
	}
	return nil
}

func (f *status) before(x *exchange, h *hit) progress {
	message := fmt.Sprintf("fault %s of the lab: %s", h.rule.ID, f.Reason)
	newStatus(f.Code, f.Reason, message).about(x.request, f.RetryAfter).writeTo(x)
	return answered
}
