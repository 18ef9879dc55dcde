package etcd

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// State is a state of a Talos service.
type State string

// The states of the service, spelled as `talosctl services` shows them.
const (
	Initialized State = "Initialized"
	Starting    State = "Starting"
	Waiting     State = "Waiting"
	Preparing   State = "Preparing"
	Running     State = "Running"
	Stopping    State = "Stopping"
	Finished    State = "Finished"
	Failed      State = "Failed"
)

// eventsKept is how many events Talos keeps of a service.
const eventsKept = 64

// Health is the result of the last check: a read that needs a quorum.
type Health struct {
	Known   bool
	Healthy bool
	Message string
	Changed time.Time
}

// Event is one change of state or health.
type Event struct {
	State   State
	Message string
	Health  Health
	Time    time.Time
}

// Status is how the service is now.
type Status struct {
	Event
	// PID of etcd; 0 while it does not run.
	PID int
	// MemberID is the last known one; 0 before the member has answered once.
	MemberID uint64
	// Voter: the process that runs now was seen as a voting member. Losing the quorum does not change that.
	Voter bool
}

// State is how the service is now.
func (s *Service) State() Status {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.status
}

// Events are the last events, the newest at the end.
func (s *Service) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.events)
}

// IsHealthy: etcd runs as a voting member of a cluster with a quorum.
func (s *Service) IsHealthy() bool {
	status := s.State()

	return status.State == Running && status.Health.Healthy
}

// WaitHealthy returns once the service is healthy, or with the last event if the time is over. A failure does not end
// it: who waits to join has failed, in Talos's words, when a bootstrap takes its place.
func (s *Service) WaitHealthy(ctx context.Context) error {
	for {
		s.mu.Lock()
		status, changed := s.status, s.changed
		s.mu.Unlock()

		if status.State == Running && status.Health.Healthy {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("etcd is not healthy: %s: %s: %w", status.State, status.Message, ctx.Err())
		}
	}
}

// record is a change of state. Leaving Running makes the service unhealthy, as in Talos.
func (s *Service) record(state State, format string, args ...any) {
	s.change(func(status *Status) bool {
		now := time.Now()
		if state != Running && status.Health.Healthy {
			status.Health = Health{Known: true, Message: "service not running", Changed: now}
		}
		status.State, status.Message, status.Time = state, fmt.Sprintf(format, args...), now

		return true
	})
}

// recordHealth is the result of a check: an event only if it differs from the one before.
func (s *Service) recordHealth(err error) {
	s.change(func(status *Status) bool {
		if status.State != Running || (status.Health.Known && status.Health.Healthy == (err == nil)) {
			return false
		}
		now := time.Now()
		status.Health = Health{Known: true, Healthy: err == nil, Changed: now}
		status.Message, status.Time = "Health check successful", now
		if err != nil {
			status.Health.Message = err.Error()
			status.Message = "Health check failed: " + err.Error()
		}

		return true
	})
}

// change updates the status, and tells everybody if update says that it is an event.
func (s *Service) change(update func(*Status) bool) {
	s.telling.Lock() // keeps events in order for OnChange, which is called without mu
	defer s.telling.Unlock()

	s.mu.Lock()
	if !update(&s.status) {
		s.mu.Unlock()

		return
	}
	event := s.status.Event
	s.events = append(s.events, event)
	if len(s.events) > eventsKept {
		s.events = slices.Clone(s.events[len(s.events)-eventsKept:])
	}
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()

	s.opts.OnChange(event)
}

// note updates what is no event by itself.
func (s *Service) note(update func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	update(&s.status)
}
