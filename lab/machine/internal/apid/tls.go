package apid

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"

	"firstlight.dev/lab/machine/internal/pki"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
)

// identity is a set of certificates in the form that TLS needs.
type identity struct {
	server   tls.Certificate
	client   *tls.Certificate
	accepted *x509.CertPool
}

// identities parses the certificates again only when they were changed.
type identities struct {
	load func() *secrets.APICertsSpec

	mu     sync.Mutex
	parsed *secrets.APICertsSpec
	last   *identity
}

func (i *identities) current() (*identity, error) {
	certificates := i.load()
	if certificates == nil || certificates.Server == nil {
		return nil, errors.New("apid has no certificate")
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	if certificates == i.parsed {
		return i.last, nil
	}

	parsed, err := parse(certificates)
	if err != nil {
		return nil, err
	}

	i.parsed, i.last = certificates, parsed

	return parsed, nil
}

func parse(certificates *secrets.APICertsSpec) (*identity, error) {
	server, err := tls.X509KeyPair(certificates.Server.Crt, certificates.Server.Key)
	if err != nil {
		return nil, fmt.Errorf("server certificate of apid: %w", err)
	}

	parsed := &identity{server: server, accepted: x509.NewCertPool()}

	if cas := pki.Bundle(certificates.AcceptedCAs); len(cas) > 0 && !parsed.accepted.AppendCertsFromPEM(cas) {
		return nil, errors.New("no certificate in the accepted CAs of apid")
	}

	if certificates.Client != nil {
		client, err := tls.X509KeyPair(certificates.Client.Crt, certificates.Client.Key)
		if err != nil {
			return nil, fmt.Errorf("client certificate of apid: %w", err)
		}

		parsed.client = &client
	}

	return parsed, nil
}

func baseConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		// A ticket would let a client in again without a look at its certificate.
		SessionTicketsDisabled: true,
	}
}

// serverConfig asks clients for certificates unless the machine is in maintenance mode.
func (i *identities) serverConfig(maintenance bool) *tls.Config {
	outer := baseConfig()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current, err := i.current()
		if err != nil {
			return nil, err
		}

		config := baseConfig()
		config.Certificates = []tls.Certificate{current.server}

		if !maintenance {
			config.ClientAuth = tls.RequireAndVerifyClientCert
			config.ClientCAs = current.accepted
			config.VerifyPeerCertificate = onlyClientAuth
		}

		return config, nil
	}

	return outer
}

// onlyClientAuth refuses certificates that are good for anything but being a client. The server certificates that
// trustd signs for workers are of the same CA, and must not open the API.
func onlyClientAuth(_ [][]byte, chains [][]*x509.Certificate) error {
	if len(chains) == 0 {
		return errors.New("no verified chains")
	}

	for _, certificate := range chains[0] {
		if certificate.IsCA {
			continue
		}

		if !slices.Equal(certificate.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
			return fmt.Errorf("certificate %q is missing the client auth extended key usage", certificate.Subject)
		}
	}

	return nil
}

// clientConfig is for calls to other machines.
func (i *identities) clientConfig() (*tls.Config, error) {
	current, err := i.current()
	if err != nil {
		return nil, err
	}

	if current.client == nil {
		return nil, errors.New("apid has no client certificate")
	}

	config := baseConfig()
	config.RootCAs = current.accepted
	config.Certificates = []tls.Certificate{*current.client}

	return config, nil
}

// canRoute is whether this machine may call others in the name of its clients: control planes can, workers cannot.
func (i *identities) canRoute() bool {
	current, err := i.current()

	return err == nil && current.client != nil
}
