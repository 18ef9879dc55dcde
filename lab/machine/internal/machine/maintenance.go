package machine

import (
	"context"
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"firstlight.dev/lab/machine/internal/disk"
	"firstlight.dev/lab/machine/internal/resources"
	"firstlight.dev/lab/machine/internal/services"
)

// basic are the services that every machine has, in maintenance mode too.
var basic = []string{"apid", "auditd", "containerd", "dashboard", "machined", "syslogd", "udevd"}

// maintain answers everybody until there is a config with which the machine can go on. One that has to be installed
// first reboots instead, and never comes back here.
func (m *Machine) maintain(ctx context.Context, local Dialer) (config.Provider, error) {
	m.Journal.Printf("this machine is reachable at %s, really at %s", m.Hardware.Address, m.Hardware.Loopback)
	m.Journal.Printf("entering maintenance service")

	for _, id := range basic {
		m.Services.Set(id, services.Running, "Started task %s", id)
		m.Services.SetHealth(id, true, "")
	}

	m.setStage(runtime.MachineStageMaintenance)

	if err := m.withdrawFromKubernetes(); err != nil {
		return nil, err
	}

	serving, stop := context.WithCancel(ctx)
	defer stop()

	api, err := m.listenInsecurely(ctx, local)
	if err != nil {
		return nil, err
	}

	failed := make(chan error, 1)
	go func() { failed <- api.Serve(serving) }()

	if err := m.markReady(); err != nil {
		return nil, err
	}

	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-failed:
			return nil, err
		case cfg := <-m.first:
			meta, err := m.Disk.Meta()
			if err != nil {
				return nil, err
			}

			if meta.Installed == "" && !m.runsUninstalled(cfg) {
				m.install(cfg)

				continue
			}

			m.Journal.Printf("leaving maintenance service")
			stop()
			<-failed

			return cfg, nil
		}
	}
}

// runsUninstalled says whether a machine that is not installed takes a config and runs from its boot medium: since Talos
// 1.14, if the config does not say where to install, or names a disk by a document that is not there.
func (m *Machine) runsUninstalled(cfg config.Provider) bool {
	if !m.Does().KubernetesDocuments {
		return false
	}

	device, err := m.Resources.InstallDisk(cfg)

	return device == "" && err == nil || errors.Is(err, resources.ErrNoDisk) && cfg.UnattendedInstallConfig() != nil
}

// IsSettled says whether no installation is under way or waited for, and no reboot is due: since Talos 1.14 etcd is
// bootstrapped only then, as it would be lost.
func (m *Machine) IsSettled() bool {
	if !m.Does().BootstrapAfterInstallation {
		return true
	}

	m.mu.Lock()
	stage := m.status.stage
	m.mu.Unlock()

	if stage != runtime.MachineStageBooting && stage != runtime.MachineStageRunning {
		return false
	}

	cfg := m.Config()

	return cfg == nil || cfg.UnattendedInstallConfig() == nil || m.IsInstalled()
}

// install puts Talos on the disk that the config names, and boots from there.
func (m *Machine) install(cfg config.Provider) {
	m.start("install", m.staged(runtime.MachineStageInstalling, []phase{
		{name: "install", task: "install", do: func(context.Context) error {
			device, err := m.Resources.InstallDisk(cfg)
			if err != nil {
				m.setStage(runtime.MachineStageMaintenance)

				return err
			}

			m.Journal.Printf("installing Talos %s to %s", m.Version, device)

			return m.Disk.ChangeMeta(func(meta *disk.Meta) { meta.Installed, meta.Version = device, m.Version })
		}},
		{name: "stopEverything", task: "stopAllServices", goesOn: true, do: m.stopEverything},
		m.ending(Rebooting),
	}))
}
