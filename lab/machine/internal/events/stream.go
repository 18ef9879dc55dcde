// Package events is the event stream of a machine: what `talosctl events` shows, and what reboot, reset and upgrade
// are followed by.
package events

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// kept is how many events can be looked back on.
const kept = 1000

// Stream holds the events of this boot.
type Stream struct {
	mu      sync.Mutex
	past    []entry
	first   int // number of past[0], counted from the boot
	changed chan struct{}
}

type entry struct {
	at    time.Time
	event *machine.Event
}

// New is an empty stream.
func New() *Stream { return &Stream{changed: make(chan struct{})} }

// Publish adds an event; actor is the id that the caller of an action was given, or empty.
func (s *Stream) Publish(actor string, payload proto.Message) {
	data, err := anypb.New(payload)
	if err != nil {
		return // only possible for a type that protobuf does not know, which the compiler excludes here
	}

	data.TypeUrl = "talos/runtime/" + string(payload.ProtoReflect().Descriptor().FullName())

	s.mu.Lock()
	defer s.mu.Unlock()

	now := time.Now()
	// Ids sort by time, as those of Talos do: a client that comes back asks for what is newer than the last one it saw.
	id := fmt.Sprintf("%08x%012x", now.Unix(), s.first+len(s.past))
	s.past = append(s.past, entry{now, &machine.Event{Id: id, ActorId: actor, Data: data}})

	if len(s.past) > kept {
		s.past = s.past[1:]
		s.first++
	}

	close(s.changed)
	s.changed = make(chan struct{})
}

// Watch sends the events that the request asks for, then those that come, until the context ends.
func (s *Stream) Watch(ctx context.Context, in *machine.EventsRequest, send func(*machine.Event) error) error {
	s.mu.Lock()
	next := s.start(in)
	s.mu.Unlock()

	for {
		s.mu.Lock()
		next = max(next, s.first)
		fresh := append([]entry(nil), s.past[next-s.first:]...)
		changed := s.changed
		s.mu.Unlock()

		for _, e := range fresh {
			next++

			if in.WithActorId != "" && in.WithActorId != e.event.ActorId {
				continue
			}

			if err := send(e.event); err != nil {
				return err
			}
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// start is the number of the first event to send. Called with the lock held.
func (s *Stream) start(in *machine.EventsRequest) int {
	end := s.first + len(s.past)

	switch {
	case in.TailId != "":
		for i, e := range s.past {
			if e.event.Id > in.TailId {
				return s.first + i
			}
		}

		return end
	case in.TailSeconds != 0:
		since := time.Now().Add(-time.Duration(in.TailSeconds) * time.Second)
		for i, e := range s.past {
			if e.at.After(since) {
				return s.first + i
			}
		}

		return end
	case in.TailEvents < 0:
		return s.first
	default:
		return max(s.first, end-int(in.TailEvents))
	}
}
