package proxy

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

func TestUpstreamDown(t *testing.T) {
	s := newStack(t, counted(new(atomic.Int64)))
	s.upstream.Close()

	answer, body, err := s.get(pods)

	if err != nil || answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"kind":"Status"`) {
		t.Errorf("%v %s %v", answer, body, err)
	}
}

func TestUpstreamBreaksOff(t *testing.T) {
	s := newStack(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })

	answer, body, err := s.get(pods)

	if err != nil || answer.StatusCode != http.StatusBadGateway || !strings.Contains(body, `"kind":"Status"`) {
		t.Errorf("%v %s %v", answer, body, err)
	}
}
