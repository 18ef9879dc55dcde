// Package pki makes the certificates of a machine out of its config, as Talos does: for apid, for trustd, and for the
// administrators of the machine and of Kubernetes.
//
// The types are those of Talos's own resources, so what is made here can be shown as a resource without translation.
package pki

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
)

// OSRoot is what the config says about the trust between machines.
//
// Workers have the certificate of the CA but not its key: their IssuingCA is nil.
func OSRoot(cfg config.Config) (*secrets.OSRootSpec, error) {
	if cfg.Machine() == nil || cfg.Cluster() == nil {
		return nil, errors.New("the machine config has no machine and cluster sections")
	}

	security := cfg.Machine().Security()

	root := &secrets.OSRootSpec{
		// Cloned, since what is appended below must not end up in the config.
		AcceptedCAs: slices.Clone(security.AcceptedCAs()),
		Token:       security.Token(),
	}

	if ca := security.IssuingCA(); ca != nil {
		root.AcceptedCAs = append(root.AcceptedCAs, &x509.PEMEncodedCertificate{Crt: ca.Crt})

		if len(ca.Key) > 0 {
			root.IssuingCA = ca
		}
	}

	if len(root.AcceptedCAs) == 0 {
		return nil, errors.New("the machine config has no machine.ca")
	}

	for _, san := range security.CertSANs() {
		if ip, err := netip.ParseAddr(san); err == nil {
			root.CertSANIPs = append(root.CertSANIPs, ip)
		} else {
			root.CertSANDNSNames = append(root.CertSANDNSNames, san)
		}
	}

	if cfg.K8sTalosAPIAccessConfig() != nil {
		service := constants.KubernetesTalosAPIServiceName
		root.CertSANDNSNames = append(root.CertSANDNSNames, service, service+"."+constants.KubernetesTalosAPIServiceNamespace)
	}

	return root, nil
}

// Bundle is the certificates of several CAs in one PEM.
func Bundle(cas []*x509.PEMEncodedCertificate) []byte {
	var bundle bytes.Buffer

	for _, ca := range cas {
		bundle.Write(ca.Crt)
	}

	return bundle.Bytes()
}
