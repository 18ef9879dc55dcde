package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"firstlight.dev/lab/machine/internal/discovery"
	"firstlight.dev/lab/machine/internal/disk"
	"firstlight.dev/lab/machine/internal/resources"
	"firstlight.dev/lab/machine/internal/services"
)

// farewell is how long those who follow the events have to read the last one before the connection is gone.
const farewell = 200 * time.Millisecond

// drainLimit is how long a drain may take before the sequence goes on without it.
const drainLimit = 60 * time.Second

// Reboot ends this life and has the next one begin.
func (m *Machine) Reboot(mode machine.RebootRequest_Mode) string {
	var phases []phase
	if mode != machine.RebootRequest_FORCE {
		phases = m.stopping("cleanup", "stopAllPods")
	}

	return m.start("reboot", m.staged(runtime.MachineStageRebooting, append(phases, m.ending(Rebooting))))
}

// Shutdown ends this life; the next one begins when somebody switches the machine on.
func (m *Machine) Shutdown(force bool) string {
	var phases []phase
	if !force {
		phases = append(phases, m.drain(false))
	}

	phases = append(phases, m.stopping("cleanup", "stopAllPods")...)

	return m.start("shutdown", m.staged(runtime.MachineStageShuttingDown, append(phases, m.ending(PoweredOff))))
}

// Wipe says what a reset deletes.
type Wipe struct {
	// System is everything on the system disk.
	System bool
	// Labels are single partitions of it.
	Labels []string
	// Disks are user disks: they hold nothing here, and are only said to be wiped.
	Disks []string
}

// Reset leaves the cluster if it is graceful, deletes what is to be deleted, and reboots or switches off.
func (m *Machine) Reset(graceful, reboot bool, wipe Wipe) string {
	var phases []phase

	if graceful {
		phases = append(phases, m.drain(true))
	}

	phases = append(phases, phase{name: "cleanup", task: "removeAllPods", goesOn: true, do: m.stopKubelet})

	if graceful && m.isControlPlane() {
		phases = append(phases, phase{name: "leave", task: "leaveEtcd", do: m.leaveEtcd})
	}

	phases = append(phases,
		phase{name: "stopEverything", task: "stopAllServices", goesOn: true, do: m.stopEverything},
		phase{name: "reset", task: "resetSystemDisk", do: func(context.Context) error { return m.wipe(wipe) }},
	)

	ending := m.ending(PoweredOff)
	if reboot {
		ending = m.ending(Rebooting)
	}

	return m.start("reset", m.staged(runtime.MachineStageResetting, append(phases, ending)))
}

func (m *Machine) wipe(wipe Wipe) error {
	for _, device := range wipe.Disks {
		m.Journal.Printf("wiping %s", device)
	}

	if wipe.System {
		m.Journal.Printf("wiping the system disk")

		return m.forget(m.Disk.WipeAll)
	}

	for _, label := range wipe.Labels {
		m.Journal.Printf("wiping partition %s", label)

		var err error

		switch label {
		case "STATE":
			err = m.forget(m.Disk.WipeState)
		case "EPHEMERAL":
			err = m.Disk.WipeEphemeral()
		case "META":
			err = m.Disk.WipeMeta()
		}

		if err != nil {
			return err
		}
	}

	return nil
}

// forget wipes the config, and with it all that the machine told others on behalf of it.
func (m *Machine) forget(wipe func() error) error {
	if err := wipe(); err != nil {
		return err
	}

	// The next life is another node, and its hostname another one unless a config gives it one.
	if err := m.Disk.SetIdentity(resources.NewNodeID()); err != nil {
		return err
	}

	if err := discovery.Withdraw(m.Home); err != nil {
		return err
	}

	// Certificates and keys of the config are in memory on a real machine.
	if err := os.RemoveAll(filepath.Join(m.Home, "pki")); err != nil {
		return err
	}

	return disk.Remove(m.nodeFile())
}

// Upgrade installs another version beside this one; the next life boots it.
func (m *Machine) Upgrade(image string) error {
	version, err := ImageVersion(image)
	if err != nil {
		return err
	}

	m.Journal.Printf("installing %s, version %s", image, version)

	return m.Disk.ChangeMeta(func(meta *disk.Meta) { meta.Previous, meta.Version = meta.Version, version })
}

// Stage has an image installed by the next life.
func (m *Machine) Stage(image string) error {
	if _, err := ImageVersion(image); err != nil {
		return err
	}

	return m.Disk.ChangeMeta(func(meta *disk.Meta) { meta.Staged = image })
}

// UpgradeAndReboot is the old upgrade, in one call.
func (m *Machine) UpgradeAndReboot(image string, stage bool) string {
	install := phase{name: "upgrade", task: "upgrade", do: func(context.Context) error { return m.Upgrade(image) }}
	if stage {
		install = phase{name: "stageUpgrade", task: "stageUpgrade", do: func(context.Context) error { return m.Stage(image) }}
	}

	phases := append([]phase{m.drain(false)}, m.stopping("cleanup", "stopAllPods")...)

	return m.start("upgrade", m.staged(runtime.MachineStageUpgrading, append(phases, install, m.ending(Rebooting))))
}

// Rollback boots the version that was there before; false if there is none.
func (m *Machine) Rollback() (bool, error) {
	meta, err := m.Disk.Meta()
	if err != nil || meta.Previous == "" {
		return false, err
	}

	if err := m.Disk.ChangeMeta(func(meta *disk.Meta) { meta.Version, meta.Previous = meta.Previous, meta.Version }); err != nil {
		return false, err
	}

	m.Reboot(machine.RebootRequest_DEFAULT)

	return true, nil
}

// ImageVersion is the version of an installer image: its tag.
func ImageVersion(image string) (string, error) {
	name, _, _ := strings.Cut(image, "@")

	colon := strings.LastIndex(name, ":")
	if colon < 0 || strings.Contains(name[colon:], "/") {
		return "", fmt.Errorf("image %q has no tag, so the lab cannot know which version it is", image)
	}

	if _, err := semver.ParseTolerant(name[colon+1:]); err != nil {
		return "", fmt.Errorf("image %q: tag %q is no version", image, name[colon+1:])
	}

	return name[colon+1:], nil
}

// staged puts the machine into a stage before the phases begin.
func (m *Machine) staged(stage runtime.MachineStage, phases []phase) []phase {
	first := phases[0].do
	phases[0].do = func(ctx context.Context) error {
		m.setStage(stage)

		return first(ctx)
	}

	return phases
}

func (m *Machine) stopping(name, task string) []phase {
	return []phase{
		{name: name, task: task, goesOn: true, do: m.stopKubelet},
		{name: "stopEverything", task: "stopAllServices", goesOn: true, do: m.stopEverything},
	}
}

func (m *Machine) ending(code int) phase {
	name, words := "reboot", "rebooting"
	if code == PoweredOff {
		name, words = "shutdown", "power off"
	}

	return phase{name: name, task: name, do: func(context.Context) error {
		m.Journal.Printf("%s", words)
		time.AfterFunc(farewell, func() { m.end <- code })

		return nil
	}}
}

// drain has the kubelet's side cordon the node and evict its pods.
func (m *Machine) drain(isReset bool) phase {
	return phase{name: "drain", task: "cordonAndDrainNode", goesOn: isReset, do: func(ctx context.Context) error {
		if _, there := m.kubelet(); !there {
			return nil // never joined
		}

		if err := m.Disk.ChangeMeta(func(meta *disk.Meta) { meta.Cordoned = true }); err != nil {
			return err
		}

		m.mu.Lock()
		m.draining = true
		m.mu.Unlock()
		m.Wake()

		ctx, cancel := context.WithTimeout(ctx, drainLimit)
		defer cancel()

		for {
			if told, _ := m.kubelet(); told.Drained {
				return nil
			}

			select {
			case <-ctx.Done():
				return fmt.Errorf("the node is not drained after %s", drainLimit)
			case <-time.After(tick):
			}
		}
	}}
}

func (m *Machine) stopKubelet(context.Context) error {
	m.Services.Set("kubelet", services.Finished, "Service finished successfully")
	m.stop("kubelet", true)

	return m.tell()
}

// stopEverything stops what runs, etcd after the API server has gone.
func (m *Machine) stopEverything(context.Context) error {
	m.stop("kubelet", true)
	m.stop("etcd", true)

	err := m.tell()

	m.stopEtcd()

	for _, s := range m.Services.List() {
		if s.Id != "apid" && s.Id != "machined" {
			m.Services.Set(s.Id, services.Finished, "Service finished successfully")
		}
	}

	return err
}

func (m *Machine) stop(service string, stopped bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.stopped[service] = stopped
}

func (m *Machine) isStopped(service string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.stopped[service]
}
