package events

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
)

var errEnough = errors.New("enough")

// watch collects the tasks of the first n events that a request gets.
func watch(t *testing.T, s *Stream, in *machine.EventsRequest, n int) []string {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	var tasks []string

	err := s.Watch(ctx, in, func(e *machine.Event) error {
		var task machine.TaskEvent
		if !strings.HasSuffix(e.Data.TypeUrl, "machine.TaskEvent") || strings.Contains(e.Data.TypeUrl, "googleapis") {
			t.Errorf("type %s", e.Data.TypeUrl)
		}

		e.Data.TypeUrl = "x/machine.TaskEvent"
		if err := e.Data.UnmarshalTo(&task); err != nil {
			return err
		}

		if tasks = append(tasks, task.Task); len(tasks) == n {
			return errEnough
		}

		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("%v: %v", tasks, err)
	}

	return tasks
}

func filled() *Stream {
	s := New()
	for _, name := range []string{"one", "two", "three"} {
		s.Publish("actor-"+name, &machine.TaskEvent{Task: name})
	}

	return s
}

func TestWhatARequestAsksFor(t *testing.T) {
	first := filled().past[0].event.Id
	for name, c := range map[string]struct {
		in   *machine.EventsRequest
		want []string
	}{
		"all":      {&machine.EventsRequest{TailEvents: -1}, []string{"one", "two", "three"}},
		"the last": {&machine.EventsRequest{TailEvents: 2}, []string{"two", "three"}},
		"by actor": {&machine.EventsRequest{TailEvents: -1, WithActorId: "actor-two"}, []string{"two"}},
		"recent":   {&machine.EventsRequest{TailSeconds: 60}, []string{"one", "two", "three"}},
		"newer":    {&machine.EventsRequest{TailId: first}, []string{"two", "three"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := watch(t, filled(), c.in, len(c.want)); !slices.Equal(got, c.want) {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestAWatcherSeesWhatComesAndNothingOfThePast(t *testing.T) {
	s := filled()

	time.AfterFunc(50*time.Millisecond, func() { s.Publish("", &machine.TaskEvent{Task: "later"}) })

	if got := watch(t, s, &machine.EventsRequest{}, 1); !slices.Equal(got, []string{"later"}) {
		t.Errorf("%v", got)
	}
}

func TestOldEventsAreForgotten(t *testing.T) {
	s := New()
	for range kept + 10 {
		s.Publish("", &machine.TaskEvent{Task: "x"})
	}

	if len(s.past) != kept || s.first != 10 {
		t.Errorf("%d kept from %d on", len(s.past), s.first)
	}
}
