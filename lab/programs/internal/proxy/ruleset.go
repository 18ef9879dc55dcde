package proxy

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// ruleset holds the rules in force, in the order in which they were added.
// Requests read it without a lock.
type ruleset struct {
	seed atomic.Uint64

	mu    sync.Mutex // for writers
	named int
	rules atomic.Pointer[[]*activeRule]
}

// activeRule is a rule with its counts.
type activeRule struct {
	*Rule
	matched atomic.Int64
	hits    atomic.Int64
	cleared chan struct{}
}

// hit is one firing of a rule.
type hit struct {
	rule *activeRule
	draw uint64
}

func newRuleset(seed uint64) *ruleset {
	s := &ruleset{}
	s.seed.Store(seed)
	s.rules.Store(&[]*activeRule{})
	return s
}

// add gives the rule an id if it has none.
func (s *ruleset) add(rule *Rule) (*activeRule, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := *s.rules.Load()
	if rule.ID == "" {
		s.named++
		rule.ID = fmt.Sprintf("%s-%d", rule.Fault, s.named)
	}
	if slices.ContainsFunc(rules, func(r *activeRule) bool { return r.ID == rule.ID }) {
		return nil, fmt.Errorf("id: %q is in use; write another one, or DELETE /faults/%s first", rule.ID, rule.ID)
	}
	active := &activeRule{Rule: rule, cleared: make(chan struct{})}
	changed := append(slices.Clone(rules), active)
	s.rules.Store(&changed)
	return active, nil
}

// clear removes the rule with this id, or all if it is empty, and tells how many.
func (s *ruleset) clear(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, removed := []*activeRule{}, 0
	for _, rule := range *s.rules.Load() {
		if id != "" && rule.ID != id {
			kept = append(kept, rule)
			continue
		}
		close(rule.cleared)
		removed++
	}
	s.rules.Store(&kept)
	return removed
}

// reseed also counts from the beginning again, so that the next requests
// meet what the first ones met under the same seed.
func (s *ruleset) reseed(seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seed.Store(seed)
	for _, rule := range *s.rules.Load() {
		rule.matched.Store(0)
		rule.hits.Store(0)
	}
}

// take returns the rules that fire on this request. Rules that come after the first one
// that does more than delay do not see the request, and do not count it.
func (s *ruleset) take(x *exchange) []*hit {
	var hits []*hit
	for _, rule := range *s.rules.Load() {
		if !rule.Match.matches(x) || !rule.fault.possible(x) {
			continue
		}
		h := rule.fire(s.seed.Load())
		if h == nil {
			continue
		}
		hits = append(hits, h)
		if _, delays := rule.fault.(*latency); !delays {
			break
		}
	}
	return hits
}

// fire counts a matching request. What it decides depends on the seed, the rule and the
// position alone, so that concurrent requests cannot change which positions are hit.
func (r *activeRule) fire(seed uint64) *hit {
	position := r.matched.Add(1) - 1
	if position < r.Skip || (r.Times > 0 && position >= r.Skip+r.Times) {
		return nil
	}
	h := &hit{rule: r, draw: mix(mix(seed) ^ r.key ^ mix(uint64(position)))}
	if r.Rate < 1 && h.fraction() >= r.Rate {
		return nil
	}
	r.hits.Add(1)
	return h
}

// fraction is a number from 0 up to, but not, 1.
func (h *hit) fraction() float64 { return float64(h.draw>>11) / (1 << 53) }

// again draws another number for the same position.
func (h *hit) again() *hit { return &hit{rule: h.rule, draw: mix(h.draw)} }

// mix is the finaliser of splitmix64: every bit of the input changes half of the output.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
