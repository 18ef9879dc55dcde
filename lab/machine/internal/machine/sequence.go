package machine

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
)

// errLocked is what a second sequence is told while one runs.
var errLocked = errors.New("locked")

// phase is a step of a sequence. Its tasks are Talos's names for what it does, since clients wait for them by name.
type phase struct {
	name string
	task string
	do   func(context.Context) error
	// goesOn says that a failure is logged and the sequence continues.
	goesOn bool
}

// start runs a sequence beside the caller, and gives the id under which its events can be followed.
func (m *Machine) start(name string, phases []phase) string {
	actor := uuid.NewString()

	go func() {
		if err := m.runSequence(actor, name, phases); err != nil {
			m.Journal.Printf("%s failed: %s", name, err)
		}
	}()

	return actor
}

func (m *Machine) runSequence(actor, name string, phases []phase) error {
	if !m.sequence.TryLock() {
		m.Events.Publish(actor, &machine.SequenceEvent{
			Sequence: name, Action: machine.SequenceEvent_NOOP,
			Error: &common.Error{Code: common.Code_LOCKED, Message: "sequence not started: " + errLocked.Error()},
		})

		return errLocked
	}
	defer m.sequence.Unlock()

	m.Journal.Printf("%s sequence: %d phase(s)", name, len(phases))
	m.Events.Publish(actor, &machine.SequenceEvent{Sequence: name, Action: machine.SequenceEvent_START})

	for i, p := range phases {
		m.Journal.Printf("phase %s (%d/%d): starting", p.name, i+1, len(phases))
		m.Events.Publish(actor, &machine.PhaseEvent{Phase: p.name, Action: machine.PhaseEvent_START})
		m.Events.Publish(actor, &machine.TaskEvent{Task: p.task, Action: machine.TaskEvent_START})

		if err := p.do(context.Background()); err != nil {
			m.Journal.Printf("task %s (%d/%d): failed: %s", p.task, i+1, len(phases), err)

			if !p.goesOn {
				m.Events.Publish(actor, &machine.SequenceEvent{
					Sequence: name, Action: machine.SequenceEvent_NOOP,
					Error: &common.Error{Code: common.Code_FATAL, Message: "sequence failed: " + err.Error()},
				})

				return err
			}
		}

		m.Events.Publish(actor, &machine.TaskEvent{Task: p.task, Action: machine.TaskEvent_STOP})
		m.Events.Publish(actor, &machine.PhaseEvent{Phase: p.name, Action: machine.PhaseEvent_STOP})
		m.Journal.Printf("phase %s (%d/%d): done", p.name, i+1, len(phases))
	}

	m.Events.Publish(actor, &machine.SequenceEvent{Sequence: name, Action: machine.SequenceEvent_STOP})

	return nil
}
