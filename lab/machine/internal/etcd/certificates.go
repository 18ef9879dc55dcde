package etcd

import (
	"crypto/tls"
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/siderolabs/crypto/x509"
)

// Certificates live as long as those of Talos.
const validity = 87600 * time.Hour

// The files below PKIDir, named as Talos names them.
const (
	fileCA        = "ca.crt"
	fileServerCrt = "server.crt"
	fileServerKey = "server.key"
	filePeerCrt   = "peer.crt"
	filePeerKey   = "peer.key"
	fileAdminCrt  = "admin.crt"
	fileAdminKey  = "admin.key"
)

// writePKI issues the certificates of this machine and returns the administrator's side of a connection. They are new
// with every Service, as they are with every boot of Talos; a running etcd reads its files at every handshake.
func writePKI(o *Options) (*tls.Config, error) {
	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(o.CA)
	if err != nil {
		return nil, fmt.Errorf("etcd CA of the config: %w", err)
	}
	if err := os.MkdirAll(o.PKIDir, 0o700); err != nil {
		return nil, err
	}

	// Talos leaves localhost out of the peer's certificate. Here it is needed: etcd compares the address that a peer
	// comes from, and connections between loopback addresses come from 127.0.0.1.
	sans := []x509.Option{
		x509.CommonName(o.Name),
		x509.DNSNames([]string{o.Name, "localhost"}),
		x509.IPAddresses([]net.IP{
			net.ParseIP(o.Loopback), net.ParseIP(o.Declared), net.ParseIP("127.0.0.1"), net.ParseIP("::1"),
		}),
	}
	both := []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth, stdx509.ExtKeyUsageClientAuth}

	if _, err := issue(ca, o.PKIDir, fileServerCrt, fileServerKey, both, sans...); err != nil {
		return nil, err
	}
	if _, err := issue(ca, o.PKIDir, filePeerCrt, filePeerKey, both, sans...); err != nil {
		return nil, err
	}
	// No names in this one: etcd would compare them with where the client comes from.
	admin, err := issue(ca, o.PKIDir, fileAdminCrt, fileAdminKey,
		[]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}, x509.CommonName("talos"))
	if err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(o.PKIDir, fileCA), o.CA.Crt); err != nil {
		return nil, err
	}

	roots := stdx509.NewCertPool()
	if !roots.AppendCertsFromPEM(o.CA.Crt) {
		return nil, errors.New("etcd CA of the config: no certificate in it")
	}

	return &tls.Config{Certificates: []tls.Certificate{*admin}, RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// issue makes one certificate; its key is of the CA's kind, which is ECDSA in configs that talosctl generates.
func issue(ca *x509.CertificateAuthority, dir, crt, key string, usage []stdx509.ExtKeyUsage, options ...x509.Option) (*tls.Certificate, error) {
	pair, err := x509.NewKeyPair(ca, append([]x509.Option{
		x509.NotAfter(time.Now().Add(validity)),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature | stdx509.KeyUsageKeyEncipherment),
		x509.ExtKeyUsage(usage),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("etcd certificate %s: %w", crt, err)
	}
	if err := writeFile(filepath.Join(dir, key), pair.KeyPEM); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, crt), pair.CrtPEM); err != nil {
		return nil, err
	}

	return pair.Certificate, nil
}

// writeFile replaces a file as a whole.
func writeFile(path string, data []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}

	return os.Rename(temporary, path)
}
