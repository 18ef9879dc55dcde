package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"firstlight.dev/lab/machine/internal/discovery"
	"firstlight.dev/lab/machine/internal/disk"
	"firstlight.dev/lab/machine/internal/resources"
	"firstlight.dev/lab/machine/internal/services"
)

// runConfigured is the life of a machine that knows what it is to be.
func (m *Machine) runConfigured(ctx context.Context, cfg config.Provider, local Dialer) error {
	m.setStage(runtime.MachineStageBooting)

	if err := m.begin(cfg); err != nil {
		return err
	}

	var running sync.WaitGroup
	defer running.Wait()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	failed := make(chan error, 4)
	start := func(work func(context.Context) error) {
		running.Go(func() {
			if err := work(ctx); err != nil && ctx.Err() == nil {
				failed <- err
			}
		})
	}

	start(func(ctx context.Context) error { return m.serveAPI(ctx, local) })

	if m.isControlPlane() {
		start(m.serveTrust)
		start(m.keepEtcd)
		start(m.keepManifests)
	}

	if err := m.markReady(); err != nil {
		return err
	}

	m.setStage(runtime.MachineStageRunning)
	start(func(ctx context.Context) error {
		m.every(ctx, m.look)

		return nil
	})

	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// begin starts the services that have no process of their own, and makes the config the active one.
func (m *Machine) begin(cfg config.Provider) error {
	m.mu.Lock()
	m.active = cfg
	m.mu.Unlock()

	own := append([]string{"cri", "kubelet"}, basic...)
	for _, id := range own {
		if id == "apid" {
			continue // runs when it has a certificate
		}

		m.Services.Set(id, services.Running, "Started task %s", id)
		m.Services.SetHealth(id, true, "")
	}

	if m.isControlPlane() {
		if err := os.MkdirAll(filepath.Join(m.Home, "pki"), 0o700); err != nil {
			return err
		}

		m.prepareManifests()

		if err := m.prepareEtcd(); err != nil {
			return err
		}
	}

	if err := m.Resources.SetPersistentConfig(cfg); err != nil {
		m.Journal.Printf("%s", err)
	}

	return m.use(cfg)
}

// look brings everything that the machine tells to where it is now.
func (m *Machine) look() {
	for _, step := range []func() error{m.checkEtcd, m.tellNews, m.hearKubelet, m.meetOthers} {
		if err := step(); err != nil {
			m.Journal.Printf("%s", err)
		}
	}

	m.report()
}

// tellNews is tell, if something has changed that it depends on.
func (m *Machine) tellNews() error {
	meta, err := m.Disk.Meta()
	if err != nil {
		return err
	}

	depends := []any{
		fmt.Sprintf("%p", m.Config()), m.runsControlPlane(), m.isStopped("kubelet"), m.isDraining(), meta.Cordoned,
		m.Services.Problems("etcd"),
	}
	if !m.isNews("told", depends) {
		return nil
	}

	return m.tell()
}

// tell writes the files that the lab plays the kubelet and the control plane by.
func (m *Machine) tell() error {
	cfg := m.Config()
	if cfg == nil {
		return nil
	}

	return errors.Join(m.tellControlPlane(cfg), m.tellKubelet(cfg))
}

// meetOthers announces the machine and publishes who else there is.
func (m *Machine) meetOthers() error {
	if err := m.Book.Refresh(); err != nil {
		return err
	}

	var members []resources.Member
	for _, other := range m.affiliates() {
		members = append(members, other.Member)
	}

	if m.isNews("members", members) {
		if err := m.Resources.SetMembers(members); err != nil {
			return err
		}
	}

	own, ok := m.Resources.Announcement()
	if !ok {
		// Without discovery nobody is a member, but control planes still find each other through the API server.
		own = resources.Member{
			NodeID: m.Resources.Identity(), Hostname: m.nodename(), Nodename: m.nodename(), MachineType: m.Config().Machine().Type(),
		}
	}

	_, err := discovery.Announce(m.Home, discovery.Affiliate{
		Member: own, Cluster: clusterHash(m.Config()), Address: m.Hardware.Address, Loopback: m.Hardware.Loopback,
	})

	return err
}

// affiliates are all machines of this machine's cluster.
func (m *Machine) affiliates() []discovery.Affiliate {
	cfg := m.Config()
	if cfg == nil {
		return nil
	}

	return discovery.Find(m.Machines(), m.Book, clusterHash(cfg))
}

func clusterHash(cfg config.Provider) string {
	identity := cfg.DiscoveryIdentityConfig()
	if identity == nil {
		return discovery.Cluster("", "")
	}

	return discovery.Cluster(identity.ClusterID(), identity.ClusterSecret())
}

func writeUnlessSame(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}

	return disk.WriteWhole(path, data)
}
