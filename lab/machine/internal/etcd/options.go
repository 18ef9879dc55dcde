// Package etcd is the real etcd of one control-plane machine: a child process, and what Talos does with it.
//
// etcd listens and advertises itself on the machine's loopback address, since that is where machines really are.
// Whatever is reported to the outside has declared addresses and Talos's ports instead.
package etcd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/siderolabs/crypto/x509"

	"firstlight.dev/lab/machine/internal/book"
)

// Peer is another control-plane machine, as discovery knows it. It need not run etcd yet.
type Peer = book.Entry

// Options say which etcd this is. All are required unless they say otherwise.
type Options struct {
	// Binary is the path of the etcd program.
	Binary string
	// DataDir is what Talos has at /var/lib/etcd; whether something is in it decides between Start and Join.
	DataDir string
	// PKIDir gets the certificates, as Talos has them below /system/secrets/etcd.
	PKIDir string
	// Name is the node's name, and so the member's.
	Name string
	// Loopback is where etcd listens, Declared is the address that it is known by.
	Loopback string
	Declared string
	// Book has the ports, and the addresses of all machines.
	Book *book.Book
	// CA is cluster.etcd.ca of the machine config.
	CA *x509.PEMEncodedCertificateAndKey
	// Log gets what etcd prints, as `talosctl logs etcd` shows it. Optional.
	Log io.Writer
	// Console gets the lines that Talos writes to the kernel's log. Optional.
	Console func(line string)
	// Addresses are the other control-plane machines that are known now.
	Addresses func() []Peer
	// ExtraArgs is cluster.etcd.extraArgs of the machine config. Optional.
	ExtraArgs map[string][]string
	// OnChange is told every event, one after the other. It may ask the Service for its state, but must not start or
	// stop it, nor wait for it. Optional.
	OnChange func(Event)
}

func (o *Options) validate() error {
	for what, value := range map[string]string{
		"Binary": o.Binary, "DataDir": o.DataDir, "PKIDir": o.PKIDir,
		"Name": o.Name, "Loopback": o.Loopback, "Declared": o.Declared,
	} {
		if value == "" {
			return fmt.Errorf("etcd: option %s is missing", what)
		}
	}
	for _, address := range []string{o.Loopback, o.Declared} {
		if net.ParseIP(address) == nil {
			return fmt.Errorf("etcd: %q is no IP address", address)
		}
	}
	switch {
	case o.Book == nil:
		return errors.New("etcd: option Book is missing")
	case o.CA == nil || len(o.CA.Crt) == 0 || len(o.CA.Key) == 0:
		return errors.New("etcd: the config has no etcd CA with a key")
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Console == nil {
		o.Console = func(string) {}
	}
	if o.Addresses == nil {
		o.Addresses = func() []Peer { return nil }
	}
	if o.OnChange == nil {
		o.OnChange = func(Event) {}
	}

	return nil
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func (o *Options) clientAddress() string { return hostPort(o.Loopback, o.Book.EtcdClient()) }
func (o *Options) clientURL() string     { return "https://" + o.clientAddress() }
func (o *Options) peerURL() string       { return "https://" + hostPort(o.Loopback, o.Book.EtcdPeer()) }

// healthSocket is where etcd says how it is, before the clients' port answers: that is what makes it good for
// explanations. It is a file in the working directory, which etcd shares: others of this computer cannot ask there, and
// its path is always short enough for a socket.
func (o *Options) healthSocket() string { return "etcd-" + o.Loopback + ".sock" }
func (o *Options) metricsURL() string   { return "unix://" + o.healthSocket() }
