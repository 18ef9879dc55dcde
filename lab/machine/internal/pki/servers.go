package pki

import (
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
)

var errNoKey = errors.New("this machine has no key of the OS CA")

// ControlPlane makes the certificates of apid on a machine that has the key of the CA: one to serve with, and one to
// call other machines with in the name of the caller.
func ControlPlane(root *secrets.OSRootSpec, sans *secrets.CertSANSpec) (*secrets.APICertsSpec, error) {
	if root.IssuingCA == nil {
		return nil, errNoKey
	}

	server, err := serverCertificate(root.IssuingCA, sans, stdx509.KeyUsageDigitalSignature)
	if err != nil {
		return nil, fmt.Errorf("server certificate of apid: %w", err)
	}

	client, err := sign(root.IssuingCA,
		x509.CommonName(sans.FQDN),
		x509.Organization(string(role.Impersonator)),
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature),
		x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}),
	)
	if err != nil {
		return nil, fmt.Errorf("client certificate of apid: %w", err)
	}

	return &secrets.APICertsSpec{AcceptedCAs: root.AcceptedCAs, Server: server, Client: client}, nil
}

// Maintenance makes the certificate of apid on a machine without a config, signed by a CA that nobody keeps.
func Maintenance(sans *secrets.CertSANSpec) (*secrets.APICertsSpec, error) {
	ca, err := x509.NewSelfSignedCertificateAuthority()
	if err != nil {
		return nil, fmt.Errorf("CA of the maintenance mode: %w", err)
	}

	server, err := serverCertificate(x509.NewCertificateAndKeyFromCertificateAuthority(ca), sans, stdx509.KeyUsageDigitalSignature)
	if err != nil {
		return nil, fmt.Errorf("certificate of the maintenance mode: %w", err)
	}

	return &secrets.APICertsSpec{Server: server, SkipVerifyingClientCert: true}, nil
}

// Trustd makes the certificate that trustd serves with.
func Trustd(root *secrets.OSRootSpec, sans *secrets.CertSANSpec) (*secrets.TrustdCertsSpec, error) {
	if root.IssuingCA == nil {
		return nil, errNoKey
	}

	server, err := serverCertificate(root.IssuingCA, sans, stdx509.KeyUsageDigitalSignature|stdx509.KeyUsageKeyEncipherment)
	if err != nil {
		return nil, fmt.Errorf("certificate of trustd: %w", err)
	}

	return &secrets.TrustdCertsSpec{AcceptedCAs: root.AcceptedCAs, Server: server}, nil
}

func serverCertificate(
	ca *x509.PEMEncodedCertificateAndKey, sans *secrets.CertSANSpec, usage stdx509.KeyUsage,
) (*x509.PEMEncodedCertificateAndKey, error) {
	return sign(ca,
		x509.IPAddresses(sans.StdIPs()),
		x509.DNSNames(sans.DNSNames),
		x509.CommonName(sans.FQDN),
		x509.KeyUsage(usage),
		x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}),
	)
}

// sign makes a key of the same kind as the CA's (Ed25519 for Talos) and a certificate for it, valid for a day.
func sign(ca *x509.PEMEncodedCertificateAndKey, options ...x509.Option) (*x509.PEMEncodedCertificateAndKey, error) {
	authority, err := x509.NewCertificateAuthorityFromCertificateAndKey(ca)
	if err != nil {
		return nil, fmt.Errorf("parsing the CA: %w", err)
	}

	pair, err := x509.NewKeyPair(authority, append(options, x509.NotAfter(time.Now().Add(x509.DefaultCertificateValidityDuration)))...)
	if err != nil {
		return nil, err
	}

	return x509.NewCertificateAndKeyFromKeyPair(pair), nil
}
