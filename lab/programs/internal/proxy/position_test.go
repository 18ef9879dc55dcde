package proxy

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
)

// outcomes asks n times in a row and tells which requests were hit.
func (s *stack) outcomes(n int) []bool {
	hits := make([]bool, n)
	for i := range n {
		answer, _, err := s.get(pods)
		if err != nil {
			s.t.Fatal(err)
		}
		hits[i] = answer.StatusCode == 503
	}
	return hits
}

func TestPositionsInARow(t *testing.T) {
	s := newStack(t, counted(new(atomic.Int64)))
	s.fault(`{"fault": "status", "code": 503, "skip": 2, "times": 3, "match": {"classes": ["list"]}}`)
	if got, want := s.outcomes(7), []bool{false, false, true, true, true, false, false}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestPositionsUnderConcurrency(t *testing.T) {
	var count, hit atomic.Int64
	s := newStack(t, counted(&count))
	s.fault(`{"fault": "status", "code": 503, "skip": 40, "times": 25, "id": "first"}`)
	s.fault(`{"fault": "status", "code": 429, "skip": 10, "times": 10, "id": "second"}`)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				if answer, err := s.client.Get(s.url + pods); err == nil {
					if answer.StatusCode != http.StatusOK {
						hit.Add(1)
					}
					answer.Body.Close()
				}
			}
		})
	}
	all.Wait()

	if hit.Load() != 35 || count.Load() != 320-35 {
		t.Errorf("%d hit, %d passed", hit.Load(), count.Load())
	}
	var shown struct {
		Faults []struct {
			Rule          map[string]any
			Matched, Hits int
		}
	}
	s.control("GET", "/faults", "", &shown)
	if first := shown.Faults[0]; first.Matched != 320 || first.Hits != 25 {
		t.Errorf("%+v", first)
	}
	// The second rule does not see what the first one took.
	if second := shown.Faults[1]; second.Matched != 295 || second.Hits != 10 {
		t.Errorf("%+v", second)
	}
}

func TestRateIsReproducible(t *testing.T) {
	s := newStack(t, counted(new(atomic.Int64)))
	rule := `{"fault": "status", "code": 503, "rate": 0.3}`
	runs := map[string][]bool{}
	for _, seed := range []string{"1", "2", "1"} {
		s.control("DELETE", "/faults", "", nil)
		s.control("POST", "/seed", `{"seed": `+seed+`}`, nil)
		s.fault(rule)
		got := s.outcomes(60)
		if before, ok := runs[seed]; ok && !reflect.DeepEqual(before, got) {
			t.Errorf("seed %s gave %v, then %v", seed, before, got)
		}
		runs[seed] = got
	}
	if reflect.DeepEqual(runs["1"], runs["2"]) {
		t.Error("two seeds draw the same")
	}

	s.control("POST", "/seed", `{"seed": 2}`, nil)
	if got := s.outcomes(60); !reflect.DeepEqual(got, runs["2"]) {
		t.Error("a new seed does not begin at the beginning")
	}
}

func TestRateIsMet(t *testing.T) {
	for _, rate := range []float64{0, 0.05, 0.5, 1} {
		rule, err := ParseRule(fmt.Appendf(nil, `{"fault": "reset-before", "rate": %v}`, rate))
		if err != nil {
			t.Fatal(err)
		}
		active := &activeRule{Rule: rule}
		for range 20_000 {
			active.fire(7)
		}
		if got := float64(active.hits.Load()) / 20_000; got < rate-0.01 || got > rate+0.01 {
			t.Errorf("rate %v hit %v", rate, got)
		}
	}
}
