package machine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"firstlight.dev/lab/machine/internal/services"
)

// tick is how often a machine looks at its etcd, its kubelet and the other machines.
const tick = 250 * time.Millisecond

type statusReport struct {
	stage runtime.MachineStage
	unmet []runtime.UnmetCondition
	said  bool
}

func (s statusReport) equals(o statusReport) bool {
	return s.said == o.said && s.stage == o.stage && slices.Equal(s.unmet, o.unmet)
}

// setStage moves the machine to a stage, and says so.
func (m *Machine) setStage(stage runtime.MachineStage) {
	m.mu.Lock()
	m.status.stage = stage
	m.mu.Unlock()

	m.report()
}

// report publishes stage and readiness where they changed.
func (m *Machine) report() {
	m.mu.Lock()
	stage := m.status.stage
	m.mu.Unlock()

	now := statusReport{stage: stage, said: true}
	if stage == runtime.MachineStageBooting || stage == runtime.MachineStageRunning {
		now.unmet = m.Resources.Unmet()
	}

	m.mu.Lock()
	same := m.status.equals(now)
	m.status = now
	m.mu.Unlock()

	if same {
		return
	}

	ready := len(now.unmet) == 0
	if err := m.Resources.SetStage(stage, ready, now.unmet...); err != nil {
		m.Journal.Printf("machine status: %s", err)
	}

	event := &machine.MachineStatusEvent{
		Stage:  machine.MachineStatusEvent_MachineStage(stage),
		Status: &machine.MachineStatusEvent_MachineStatus{Ready: ready},
	}
	for _, c := range now.unmet {
		event.Status.UnmetConditions = append(event.Status.UnmetConditions,
			&machine.MachineStatusEvent_MachineStatus_UnmetCondition{Name: c.Name, Reason: c.Reason})
	}

	m.Events.Publish("", event)

	if stage == runtime.MachineStageRunning && ready {
		m.Journal.Printf("machine is running and ready")
	}
}

// serviceChanged tells the world what the table of services was told.
func (m *Machine) serviceChanged(c services.Change) {
	_ = m.Resources.SetService(c.ID, c.Running(), c.Healthy, c.Unknown)
	m.Journal.Printf("service[%s](%s): %s", c.ID, c.State, c.Message)
	m.Events.Publish("", &machine.ServiceStateEvent{
		Service: c.ID, Message: c.Message, Action: actions[c.State],
		Health: &machine.ServiceHealth{Healthy: c.Healthy, Unknown: c.Unknown},
	})
	m.Wake()
}

var actions = map[string]machine.ServiceStateEvent_Action{
	services.Waiting:   machine.ServiceStateEvent_WAITING,
	services.Preparing: machine.ServiceStateEvent_PREPARING,
	services.Running:   machine.ServiceStateEvent_RUNNING,
	services.Stopping:  machine.ServiceStateEvent_STOPPING,
	services.Finished:  machine.ServiceStateEvent_FINISHED,
	services.Failed:    machine.ServiceStateEvent_FAILED,
}

// every runs a step now, whenever the machine is woken, and at every tick.
func (m *Machine) every(ctx context.Context, step func()) {
	timer := time.NewTicker(tick)
	defer timer.Stop()

	for {
		step()

		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-m.wake:
		}
	}
}

// isNews says whether a value is another one than it was when it was last asked about. Telling the resources what they
// know already would make them compute everything anew, four times a second.
func (m *Machine) isNews(about string, value any) bool {
	data, err := json.Marshal(value)
	if err != nil {
		return true
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	if old, known := m.known[about]; known && old == string(data) {
		return false
	}

	m.known[about] = string(data)

	return true
}
