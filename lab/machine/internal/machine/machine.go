// Package machine is one virtual Talos machine: what it is, how it boots, and how one life of it ends.
//
// A life is one process. A reboot ends it, and the lab starts the next one: whatever is not on the disk is forgotten,
// as it is on a real machine.
package machine

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"

	"firstlight.dev/lab/machine/internal/book"
	"firstlight.dev/lab/machine/internal/disk"
	"firstlight.dev/lab/machine/internal/etcd"
	"firstlight.dev/lab/machine/internal/events"
	"firstlight.dev/lab/machine/internal/journal"
	"firstlight.dev/lab/machine/internal/manifests"
	"firstlight.dev/lab/machine/internal/resources"
	"firstlight.dev/lab/machine/internal/services"
)

// Exit codes of a life.
const (
	PoweredOff = 0
	Rebooting  = 3
)

// Options is what the lab says.
type Options struct {
	// Home is the machine's own directory, beside those of the others.
	Home string
	Book *book.Book
	// EtcdBinary is the program.
	EtcdBinary string
}

// Machine is one life of a machine.
type Machine struct {
	Options

	Hardware  *book.Hardware
	Disk      *disk.Disk
	Journal   *journal.Journal
	Events    *events.Stream
	Services  *services.Table
	Resources *resources.Machine
	// BootID is new with every life, and Version what booted.
	BootID  string
	Version string

	sequence sync.Mutex
	end      chan int
	first    chan config.Provider // the config that ends maintenance mode
	applier  *manifests.Controller
	renderer *manifests.Renderer

	mu       sync.Mutex
	active   config.Provider
	revert   *time.Timer
	etcd     *etcd.Service
	root     *secrets.OSRootSpec
	status   statusReport
	stopped  map[string]bool // services that somebody stopped through the API
	wake     chan struct{}
	draining bool
	known    map[string]string // what was last told, by subject
}

// Dialer reaches the services of this machine, without TLS.
type Dialer = func(context.Context) (net.Conn, error)

// Boot begins a life: hardware, disk and what is on it.
func Boot(o Options) (*Machine, error) {
	hardware, err := book.LoadHardware(filepath.Join(o.Home, "hardware.json"))
	if err != nil {
		return nil, err
	}

	onDisk, err := disk.At(o.Home)
	if err != nil {
		return nil, err
	}

	log, err := journal.Begin(filepath.Join(o.Home, "logs"))
	if err != nil {
		return nil, err
	}

	m := &Machine{
		Options: o, Hardware: hardware, Disk: onDisk, Journal: log, Events: events.New(), BootID: uuid.NewString(),
		end: make(chan int, 1), first: make(chan config.Provider, 1), wake: make(chan struct{}, 1), stopped: map[string]bool{}, known: map[string]string{},
	}
	m.Services = services.New(m.serviceChanged)

	if m.Resources, err = resources.New(hardware); err != nil {
		return nil, err
	}

	if id := onDisk.Identity(); id != "" {
		if err := m.Resources.SetIdentity(id); err != nil {
			return nil, err
		}
	}

	return m, m.bootLoader()
}

// bootLoader decides which version boots: a staged upgrade is installed first.
func (m *Machine) bootLoader() error {
	meta, err := m.Disk.Meta()
	if err != nil {
		return err
	}

	if m.Version = meta.Version; meta.Installed == "" {
		m.Version = m.Hardware.Talos
	}

	m.Journal.Printf("Linux, simulated by the firstlight lab: machine %s, %s", m.Hardware.Name, m.Hardware.UUID)
	m.Journal.Printf("booting Talos %s", m.Version)

	if meta.Staged == "" {
		return errors.Join(m.Resources.SetVersion(m.Version), m.Resources.SetMeta(meta.Tags), m.Resources.SetInstalled(meta.Installed))
	}

	m.Journal.Printf("performing staged upgrade to %q", meta.Staged)

	version, err := ImageVersion(meta.Staged)
	if err != nil {
		return err
	}

	m.Version = version

	return m.Disk.ChangeMeta(func(meta *disk.Meta) {
		meta.Previous, meta.Version, meta.Staged = meta.Version, version, ""
	})
}

// Run lives until the machine is switched off, rebooted or the lab stops; the exit code says which.
func (m *Machine) Run(ctx context.Context, local Dialer) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if err := m.bootDelay(ctx); err != nil {
		return PoweredOff, err
	}

	stored, err := m.storedConfig()
	if err != nil {
		return 1, err
	}

	failed := make(chan error, 1)
	lived := make(chan struct{})

	go func() {
		defer close(lived)

		if err := m.live(ctx, stored, local); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()

	code := PoweredOff

	select {
	case <-ctx.Done():
		m.Journal.Printf("the lab stops")
	case err = <-failed:
		code = 1
	case code = <-m.end:
	}

	cancel()
	<-lived
	m.stopEtcd()

	return code, err
}

func (m *Machine) live(ctx context.Context, cfg config.Provider, local Dialer) error {
	if cfg != nil && !m.IsInstalled() {
		// The installation failed, or was cut off: it is tried again. A machine that ran without one has forgotten its
		// config, since it had no disk to keep it.
		if !m.runsUninstalled(cfg) {
			m.first <- cfg
		}

		cfg = nil
	}

	if cfg == nil {
		var err error
		if cfg, err = m.maintain(ctx, local); err != nil {
			return err
		}
	}

	return m.runConfigured(ctx, cfg, local)
}

func (m *Machine) bootDelay(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(m.Hardware.BootSeconds * float64(time.Second))):
		return nil
	}
}

// markReady tells the lab that this life is past its boot.
func (m *Machine) markReady() error {
	return disk.WriteWhole(filepath.Join(m.Home, "ready"), []byte(strconv.Itoa(os.Getpid())))
}

// Config is the active config; nil in maintenance mode.
func (m *Machine) Config() config.Provider {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.active
}

// Etcd is the machine's etcd; nil if it is no control plane.
func (m *Machine) Etcd() *etcd.Service {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.etcd
}

// Machines is the directory that holds all machines of the lab.
func (m *Machine) Machines() string { return filepath.Dir(m.Home) }

// Wake makes the machine look at itself now rather than at the next tick.
func (m *Machine) Wake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
