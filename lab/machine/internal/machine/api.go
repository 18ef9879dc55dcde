package machine

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"

	"firstlight.dev/lab/machine/internal/apid"
	"firstlight.dev/lab/machine/internal/pki"
	"firstlight.dev/lab/machine/internal/services"
	"firstlight.dev/lab/machine/internal/trustd"
)

// grace is how long calls in flight may go on when apid stops: those that follow the events of a reboot would never end.
const grace = 300 * time.Millisecond

// listenInsecurely opens apid for everybody, as in maintenance mode.
func (m *Machine) listenInsecurely(ctx context.Context, local Dialer) (*apid.Server, error) {
	certificates, err := pki.Maintenance(pki.MaintenanceSANs(m.names()))
	if err != nil {
		return nil, err
	}

	return apid.Listen(ctx, apid.Options{
		Loopback: m.Hardware.Loopback, Book: m.Book, Maintenance: true, Local: local, Grace: grace, Log: m.logger("apid"),
		Certificates: func() *secrets.APICertsSpec { return certificates },
	})
}

// serveAPI serves apid for those who have a certificate, once the machine has one itself.
func (m *Machine) serveAPI(ctx context.Context, local Dialer) error {
	var (
		certificates atomic.Pointer[secrets.APICertsSpec]
		issued       = make(chan struct{}, 1)
	)

	m.Services.Set("apid", services.Preparing, "Waiting for api certificates")

	go pki.Keep(ctx, func(ctx context.Context) error {
		fresh, err := m.apiCertificates(ctx)
		if err != nil {
			return err
		}

		certificates.Store(fresh)

		select {
		case issued <- struct{}{}:
		default:
		}

		return nil
	}, func(err error) { m.Journal.Logf("apid", "no certificate yet: %s", err) })

	select {
	case <-ctx.Done():
		return nil
	case <-issued:
	}

	server, err := apid.Listen(ctx, apid.Options{
		Loopback: m.Hardware.Loopback, Book: m.Book, Local: local, Grace: grace, Log: m.logger("apid"),
		Certificates: certificates.Load, Resolve: m.resolve,
	})
	if err != nil {
		return err
	}

	m.Services.Set("apid", services.Running, "Started task apid")
	m.Services.SetHealth("apid", true, "")

	return server.Serve(ctx)
}

// apiCertificates are made by control planes themselves, and signed by one of them for workers.
func (m *Machine) apiCertificates(ctx context.Context) (*secrets.APICertsSpec, error) {
	root := m.osRoot()
	sans := pki.SANs(root, m.names())

	if m.isControlPlane() {
		return pki.ControlPlane(root, sans)
	}

	var endpoints []string

	for _, other := range m.affiliates() {
		if other.MachineType.IsControlPlane() {
			endpoints = append(endpoints, net.JoinHostPort(other.Loopback, strconv.Itoa(m.Book.Trustd())))
		}
	}

	if len(endpoints) == 0 {
		return nil, fmt.Errorf("no control plane of the cluster is known yet")
	}

	return trustd.Worker(ctx, root, sans, endpoints)
}

// serveTrust serves trustd, which signs the certificates of workers.
func (m *Machine) serveTrust(ctx context.Context) error {
	var certificates atomic.Pointer[secrets.TrustdCertsSpec]

	issue := func(context.Context) error {
		root := m.osRoot()

		fresh, err := pki.Trustd(root, pki.SANs(root, m.names()))
		if err != nil {
			return err
		}

		certificates.Store(fresh)

		return nil
	}

	if err := issue(ctx); err != nil {
		return err
	}

	go pki.Keep(ctx, issue, func(err error) { m.Journal.Logf("trustd", "%s", err) })

	server, err := trustd.Listen(ctx, trustd.Options{
		Address: net.JoinHostPort(m.Hardware.Loopback, strconv.Itoa(m.Book.Trustd())), Root: m.osRoot,
		Certificates: certificates.Load, Grace: grace, Log: m.logger("trustd"),
	})
	if err != nil {
		return err
	}

	m.Services.Set("trustd", services.Running, "Started task trustd")
	m.Services.SetHealth("trustd", true, "")

	return server.Serve(ctx)
}

func (m *Machine) osRoot() *secrets.OSRootSpec {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.root
}

// names is how this machine can be reached.
func (m *Machine) names() pki.Names {
	n := pki.Names{Hostname: m.Hostname(), Machine: m.Hardware.Name}
	for _, text := range []string{m.Hardware.Address, m.Hardware.Loopback} {
		if address, err := netip.ParseAddr(text); err == nil {
			n.Addresses = append(n.Addresses, address)
		}
	}

	return n
}

// Hostname is the machine's name; in maintenance mode the one that it will have if nobody gives it another.
func (m *Machine) Hostname() string {
	if name := m.nodename(); name != "" {
		return name
	}

	return m.Hardware.Name
}

// resolve finds another machine by its hostname, as a DNS server would.
func (m *Machine) resolve(name string) (string, bool) {
	for _, other := range m.affiliates() {
		if name == other.Hostname || name == other.Nodename {
			return other.Loopback, true
		}
	}

	return "", false
}

func (m *Machine) logger(id string) *log.Logger {
	return log.New(m.Journal.Service(id), "", log.LstdFlags|log.Lmicroseconds|log.LUTC)
}
