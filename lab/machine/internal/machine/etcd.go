package machine

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"firstlight.dev/lab/machine/internal/book"
	"firstlight.dev/lab/machine/internal/etcd"
)

// etcdStop is how long etcd may take to stop; without a quorum it does not matter how it ends.
const etcdStop = 5 * time.Second

// prepareEtcd makes the service, with the certificates of the config.
func (m *Machine) prepareEtcd() error {
	cfg := m.Config()

	service, err := etcd.New(etcd.Options{
		Binary: m.EtcdBinary, DataDir: m.Disk.Etcd(), PKIDir: filepath.Join(m.Home, "pki", "etcd"), Name: m.nodename(),
		Loopback: m.Hardware.Loopback, Declared: m.Hardware.Address, Book: m.Book, CA: cfg.Cluster().Etcd().CA(),
		Log: m.Journal.Service("etcd"), Console: func(line string) { m.Journal.Printf("%s", line) },
		Addresses: m.peers, ExtraArgs: cfg.Cluster().Etcd().ExtraArgs(), OnChange: m.etcdChanged,
	})
	if err != nil {
		return err
	}

	m.mu.Lock()
	m.etcd = service
	m.mu.Unlock()

	return nil
}

// peers are the other control planes that discovery knows.
func (m *Machine) peers() []etcd.Peer {
	var found []etcd.Peer

	for _, other := range m.affiliates() {
		if other.MachineType.IsControlPlane() && other.Loopback != m.Hardware.Loopback {
			found = append(found, book.Entry{Name: other.Nodename, Loopback: other.Loopback, Declared: other.Address})
		}
	}

	return found
}

// keepEtcd starts the member that is on the disk, or waits for a cluster to join until somebody bootstraps.
func (m *Machine) keepEtcd(ctx context.Context) error {
	service := m.Etcd()

	begin := service.Join
	if service.HasData() {
		begin = service.Start
	}

	if err := begin(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, etcd.ErrStopped) {
		m.Journal.Printf("etcd: %s", err)
	}

	<-ctx.Done()

	return nil
}

// Bootstrap makes this machine the first member of a new cluster, empty or with the keys of the uploaded snapshot.
func (m *Machine) Bootstrap(ctx context.Context, recovers, skipHashCheck bool) error {
	if recovers {
		return m.Etcd().BootstrapFromSnapshot(ctx, m.Disk.Snapshot(), skipHashCheck)
	}

	return m.Etcd().Bootstrap(ctx)
}

func (m *Machine) leaveEtcd(ctx context.Context) error {
	service := m.Etcd()
	if service == nil || !service.HasData() {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	return service.Leave(ctx)
}

func (m *Machine) stopEtcd() {
	if service := m.Etcd(); service != nil {
		ctx, cancel := context.WithTimeout(context.Background(), etcdStop)
		defer cancel()

		_ = service.Stop(ctx) // killed if it does not stop
	}
}

// etcdChanged copies etcd's state into the table of services.
func (m *Machine) etcdChanged(event etcd.Event) {
	if event.State == etcd.Running && event.Health.Known {
		m.Services.SetHealth("etcd", event.Health.Healthy, event.Health.Message)
	} else {
		m.Services.Set("etcd", string(event.State), "%s", event.Message)
	}

	m.Wake()
}

// checkEtcd publishes which member this machine is.
func (m *Machine) checkEtcd() error {
	service := m.Etcd()
	if service == nil {
		return nil
	}

	if id := service.State().MemberID; m.isNews("etcd member", id) {
		return m.Resources.SetEtcdMember(id)
	}

	return nil
}

// etcdClient is what the machines lock their manifest passes with.
func (m *Machine) etcdClient(context.Context) (*clientv3.Client, error) {
	return m.Etcd().Client()
}
