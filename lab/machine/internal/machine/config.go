package machine

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"firstlight.dev/lab/machine/internal/behaviour"
	"firstlight.dev/lab/machine/internal/pki"
)

// storedConfig is the config on the disk; nil if there is none that the machine could boot with.
func (m *Machine) storedConfig() (config.Provider, error) {
	data, err := m.Disk.Config()
	if err != nil || data == nil {
		return nil, err
	}

	cfg, err := m.Does().Load(data)
	if err != nil {
		return nil, fmt.Errorf("the config on the disk: %w", err)
	}

	if !cfg.CompleteForBoot() {
		return nil, nil
	}

	return cfg, nil
}

// Does is what the version of Talos does that runs.
func (m *Machine) Does() behaviour.Behaviour { return behaviour.Of(m.Version) }

// IsInstalled says whether Talos is on a disk.
func (m *Machine) IsInstalled() bool {
	meta, err := m.Disk.Meta()

	return err == nil && meta.Installed != ""
}

// Persist keeps a config for the next boot.
func (m *Machine) Persist(cfg config.Provider) error {
	data, err := cfg.Bytes()
	if err != nil {
		return err
	}

	if err := m.Disk.WriteConfig(data); err != nil {
		return err
	}

	if err := m.Resources.SetPersistentConfig(cfg); err != nil {
		m.Journal.Printf("%s", err)
	}

	return nil
}

// Activate makes a config the one that the machine runs with.
func (m *Machine) Activate(cfg config.Provider) error {
	if m.Config() == nil {
		select {
		case m.first <- cfg:
		default: // one is being installed already
		}

		return nil
	}

	return m.use(cfg)
}

// use is Activate for a machine that is past maintenance mode.
func (m *Machine) use(cfg config.Provider) error {
	before := m.Config()

	m.mu.Lock()
	m.active = cfg
	m.mu.Unlock()

	if before != nil && kubeletDiffers(before, cfg) {
		m.restartKubelet()
	}

	// A config can be valid and still say something that cannot be done. A machine lives with that, and says so.
	if err := m.Resources.SetActiveConfig(cfg); err != nil {
		m.Journal.Printf("%s", err)
	}

	root, err := pki.OSRoot(cfg)
	if err != nil {
		return err
	}

	m.mu.Lock()
	m.root = root
	m.mu.Unlock()

	if m.renderer != nil {
		m.renderer.Set(cfg)
	}

	m.Wake()

	// A machine that runs from its medium installs itself as soon as there is a disk for it.
	if before != nil && !m.IsInstalled() && !m.runsUninstalled(cfg) {
		m.install(cfg)
	}

	return nil
}

// Try activates a config until it is confirmed by another one, or the time is over.
func (m *Machine) Try(cfg config.Provider, limit time.Duration) error {
	before := m.Config()

	m.KeepTried()

	m.mu.Lock()
	m.revert = time.AfterFunc(limit, func() {
		m.Journal.Printf("rolling back the configuration")

		if err := m.use(before); err != nil {
			m.Journal.Printf("config rollback failed %s", err)
		}
	})
	m.mu.Unlock()

	return m.Activate(cfg)
}

// KeepTried ends the time of a config that is being tried; whatever is active stays.
func (m *Machine) KeepTried() {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.revert != nil {
		m.revert.Stop()
		m.revert = nil
	}
}

// NeedsReboot says why a config cannot be activated while the machine runs; nil if it can.
//
// Everything below .cluster and most of .machine can. What is left when both configs are made equal there cannot. Since
// Talos 1.14 nobody asks: what cannot be activated waits for the next reboot.
func (m *Machine) NeedsReboot(wanted config.Provider) error {
	if !m.Does().AppliesByReboot {
		return nil
	}

	active := m.Config()
	if active == nil || active.RawV1Alpha1() == nil {
		return errors.New("no current config")
	}

	if wanted.RawV1Alpha1() == nil {
		return errors.New("new config is not v1alpha1")
	}

	now, then := active.RawV1Alpha1(), wanted.RawV1Alpha1().DeepCopy()
	then.ConfigDebug, then.ClusterConfig = now.ConfigDebug, now.ClusterConfig

	if then.MachineConfig != nil && now.MachineConfig != nil {
		equalise(then.MachineConfig, now.MachineConfig, []string{
			"MachineCA", "MachineAcceptedCAs", "MachineTime", "MachineCertSANs", "MachineInstall", "MachineNetwork",
			"MachineSysfs", "MachineSysctls", "MachineLogging", "MachineControlPlane", "MachineKubelet", "MachineKernel",
			"MachineRegistries", "MachinePods", "MachineSeccompProfiles", "MachineNodeAnnotations", "MachineNodeLabels",
			"MachineNodeTaints",
		})

		if then.MachineConfig.MachineFeatures != nil && now.MachineConfig.MachineFeatures != nil {
			equalise(then.MachineConfig.MachineFeatures, now.MachineConfig.MachineFeatures, []string{
				"KubernetesTalosAPIAccessConfig", "KubePrismSupport", "HostDNSSupport", "ImageCacheSupport",
				"FeatureNodeAddressSortAlgorithm",
			})
		}
	}

	if reflect.DeepEqual(now, then) {
		return nil
	}

	diff, err := configdiff.DiffConfigs(wrap(now), wrap(then))
	if err != nil {
		return err
	}

	return fmt.Errorf("this config change can't be applied in immediate mode\ndiff:\n%s", diff)
}

func wrap(c *v1alpha1.Config) config.Container { return container.NewV1Alpha1(c) }

// equalise copies fields from one struct to another of the same type.
func equalise(to, from any, fields []string) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for _, name := range fields {
		target.FieldByName(name).Set(source.FieldByName(name))
	}
}
