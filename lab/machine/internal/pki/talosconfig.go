package pki

import (
	"strings"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	gensecrets "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
)

// ClientCertificate makes a client certificate with the given roles.
func ClientCertificate(cfg config.Config, roles role.Set, ttl time.Duration) (*x509.PEMEncodedCertificateAndKey, error) {
	root, err := OSRoot(cfg)
	if err != nil {
		return nil, err
	}

	if root.IssuingCA == nil {
		return nil, errNoKey
	}

	return gensecrets.NewAdminCertificateAndKey(time.Now(), root.IssuingCA, roles, ttl)
}

// ClientConfiguration is what the GenerateClientConfiguration call answers: a talosconfig with a certificate for the
// given roles. The caller has checked that ttl is positive.
func ClientConfiguration(cfg config.Config, roles role.Set, ttl time.Duration) (*machine.GenerateClientConfiguration, error) {
	certificate, err := ClientCertificate(cfg, roles, ttl)
	if err != nil {
		return nil, err
	}

	name := cfg.K8sClusterConfig().ClusterName()
	if only := roles.Strings(); len(only) == 1 {
		name = strings.TrimPrefix(only[0], role.Prefix) + "@" + name
	}

	ca := cfg.Machine().Security().IssuingCA().Crt

	talosconfig, err := clientconfig.NewConfig(name, nil, ca, certificate).Bytes()
	if err != nil {
		return nil, err
	}

	return &machine.GenerateClientConfiguration{
		Ca:          ca,
		Crt:         certificate.Crt,
		Key:         certificate.Key,
		Talosconfig: talosconfig,
	}, nil
}
