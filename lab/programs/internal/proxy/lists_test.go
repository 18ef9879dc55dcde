package proxy

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestStaleList(t *testing.T) {
	var count atomic.Int64
	s := newStack(t, counted(&count))
	s.fault(`{"fault": "stale-list", "times": 1}`)
	_, first, _ := s.get(pods)
	s.client.Get(s.url + pods + "?limit=1") // another URL, so never stale

	answer, second, err := s.get(pods)
	_, third, _ := s.get(pods)

	if err != nil || second != first || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%q, then %q, %v", first, second, err)
	}
	if !strings.Contains(third, `"number": 3`) {
		t.Errorf("then %q", third)
	}
	bob := s.newClient(s.ca.issue(time.Hour, "bob"))
	s.fault(`{"fault": "stale-list"}`)
	if answer, _ := bob.Get(s.url + pods); answer == nil || count.Load() != 4 {
		t.Error("bob was shown what alice had read")
	}
}

func TestListMemoryIsBounded(t *testing.T) {
	memory := newListMemory()
	for i := range 20 {
		memory.keep(&oldList{key: listKey{byte(i)}, answer: &http.Response{Header: http.Header{}}, body: make([]byte, maxListBytes)})
	}
	if memory.bytes > maxListMemory || len(memory.byKey) != maxListMemory/maxListBytes || memory.used.Len() != len(memory.byKey) {
		t.Errorf("%d bytes in %d lists", memory.bytes, len(memory.byKey))
	}
}
