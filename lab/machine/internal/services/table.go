// Package services is the table of a machine's services: their states, their health and what happened to them.
package services

import (
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// States of a service, in Talos's words.
const (
	Waiting   = "Waiting"
	Preparing = "Preparing"
	Running   = "Running"
	Stopping  = "Stopping"
	Finished  = "Finished"
	Failed    = "Failed"
)

// kept is how many events a service remembers.
const kept = 20

// Table is all services.
type Table struct {
	mu     sync.Mutex
	rows   map[string]*row
	listen func(Change)
}

// Change is what listeners learn.
type Change struct {
	ID, State, Message string
	Healthy, Unknown   bool
}

// Running says whether the service runs.
func (c Change) Running() bool { return c.State == Running }

type row struct {
	state   string
	health  *machine.ServiceHealth
	history []*machine.ServiceEvent
}

// New is an empty table whose changes are told.
func New(listen func(Change)) *Table { return &Table{rows: map[string]*row{}, listen: listen} }

// Set moves a service to a state, with a reason; the same again is no news.
func (t *Table) Set(id, state, format string, args ...any) {
	t.change(id, func(r *row) bool {
		message := fmt.Sprintf(format, args...)
		if len(r.history) > 0 && r.state == state && r.history[len(r.history)-1].Msg == message {
			return false
		}

		if r.state != state && state != Running {
			r.health = unknown()
		}

		r.state = state
		r.history = append(r.history, &machine.ServiceEvent{Msg: message, State: state, Ts: timestamppb.Now()})

		if len(r.history) > kept {
			r.history = r.history[1:]
		}

		return true
	})
}

// SetHealth says what the health check of a running service found.
func (t *Table) SetHealth(id string, healthy bool, message string) {
	t.change(id, func(r *row) bool {
		if !r.health.Unknown && r.health.Healthy == healthy && r.health.LastMessage == message {
			return false
		}

		if r.health.Unknown || r.health.Healthy != healthy {
			said := "Health check successful"
			if !healthy {
				said = "Health check failed: " + message
			}

			r.history = append(r.history, &machine.ServiceEvent{Msg: said, State: r.state, Ts: timestamppb.Now()})
		}

		r.health = &machine.ServiceHealth{Healthy: healthy, LastMessage: message, LastChange: timestamppb.New(time.Now())}

		return true
	})
}

// Has says whether a service is there.
func (t *Table) Has(id string) bool { return t.State(id) != "" }

// State is the state of a service; empty if there is none.
func (t *Table) State(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()

	if r := t.rows[id]; r != nil {
		return r.state
	}

	return ""
}

// Problems are the services of which something is wrong, besides those of the wanted ones that do not run.
func (t *Table) Problems(wanted ...string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()

	var found []string

	for id, r := range t.rows {
		switch {
		case r.state != Running:
			found = append(found, id+" not running")
		case !r.health.Unknown && !r.health.Healthy:
			found = append(found, id+" not healthy")
		}
	}

	for _, id := range wanted {
		if t.rows[id] == nil {
			found = append(found, id+" not running")
		}
	}

	sort.Strings(found)

	return found
}

// List is every service, as the API tells it.
func (t *Table) List() []*machine.ServiceInfo {
	t.mu.Lock()
	defer t.mu.Unlock()

	list := make([]*machine.ServiceInfo, 0, len(t.rows))
	for id, r := range t.rows {
		list = append(list, &machine.ServiceInfo{
			Id: id, State: r.state, Health: r.health,
			Events: &machine.ServiceEvents{Events: append([]*machine.ServiceEvent(nil), r.history...)},
		})
	}

	sort.Slice(list, func(i, j int) bool { return list[i].Id < list[j].Id })

	return list
}

func (t *Table) change(id string, change func(*row) bool) {
	t.mu.Lock()

	r := t.rows[id]
	if r == nil {
		r = &row{health: unknown()}
		t.rows[id] = r
	}

	changed := change(r)
	news := Change{ID: id, State: r.state, Healthy: r.health.Healthy, Unknown: r.health.Unknown}

	if len(r.history) > 0 {
		news.Message = r.history[len(r.history)-1].Msg
	}

	t.mu.Unlock()

	if changed {
		t.listen(news)
	}
}

func unknown() *machine.ServiceHealth { return &machine.ServiceHealth{Unknown: true} }
