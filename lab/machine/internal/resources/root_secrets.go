package resources

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
)

// rootSecrets are the authorities in the config. They are sensitive: only administrators see them.
func rootSecrets(f *facts) ([]owned, error) {
	if !f.configured() {
		return nil, nil
	}

	out := []owned{of("secrets.RootOSController", secrets.NewOSRoot(secrets.OSRootID), osRoot(f.active))}

	if !f.controlPlane() {
		return out, nil
	}

	var errs []error

	if ca := f.active.Cluster().Etcd().CA(); ca != nil {
		out = append(out, of("secrets.RootEtcdController", secrets.NewEtcdRoot(secrets.EtcdRootID),
			secrets.EtcdRootSpec{EtcdCA: ca}))
	} else {
		errs = append(errs, errors.New("missing cluster.etcdCA secret"))
	}

	root, err := kubernetesRoot(f.active)
	if err != nil {
		errs = append(errs, err)
	} else {
		out = append(out, of("secrets.RootKubernetesController", secrets.NewKubernetesRoot(secrets.KubernetesRootID), root))
	}

	return out, errors.Join(errs...)
}

// authority splits what a config has into the one that signs (its key is there on control planes only) and all that are
// trusted.
func authority(issuing *x509.PEMEncodedCertificateAndKey, accepted []*x509.PEMEncodedCertificate) (
	*x509.PEMEncodedCertificateAndKey, []*x509.PEMEncodedCertificate,
) {
	accepted = slices.Clone(accepted)

	if issuing == nil {
		return nil, accepted
	}

	accepted = append(accepted, &x509.PEMEncodedCertificate{Crt: issuing.Crt})

	if len(issuing.Key) == 0 {
		return nil, accepted
	}

	return issuing, accepted
}

func osRoot(cfg config.Config) secrets.OSRootSpec {
	security := cfg.Machine().Security()

	spec := secrets.OSRootSpec{Token: security.Token()}
	spec.IssuingCA, spec.AcceptedCAs = authority(security.IssuingCA(), security.AcceptedCAs())

	for _, san := range security.CertSANs() {
		if ip, err := netip.ParseAddr(san); err == nil {
			spec.CertSANIPs = append(spec.CertSANIPs, ip)
		} else {
			spec.CertSANDNSNames = append(spec.CertSANDNSNames, san)
		}
	}

	if cfg.Machine().Features().KubernetesTalosAPIAccess().Enabled() {
		spec.CertSANDNSNames = append(spec.CertSANDNSNames,
			constants.KubernetesTalosAPIServiceName,
			constants.KubernetesTalosAPIServiceName+"."+constants.KubernetesTalosAPIServiceNamespace)
	}

	return spec
}

func kubernetesRoot(cfg config.Config) (secrets.KubernetesRootSpec, error) {
	cluster := cfg.Cluster()

	ips, err := cluster.Network().APIServerIPs()
	if err != nil {
		return secrets.KubernetesRootSpec{}, fmt.Errorf("error building API service IPs: %w", err)
	}

	spec := secrets.KubernetesRootSpec{
		Name:                      cluster.Name(),
		Endpoint:                  cluster.Endpoint(),
		LocalEndpoint:             &url.URL{Scheme: "https", Host: fmt.Sprintf("localhost:%d", cluster.LocalAPIServerPort())},
		CertSANs:                  cluster.CertSANs(),
		APIServerIPs:              ips,
		DNSDomain:                 cluster.Network().DNSDomain(),
		ServiceAccount:            cluster.ServiceAccount(),
		AggregatorCA:              cluster.AggregatorCA(),
		AESCBCEncryptionSecret:    cluster.AESCBCEncryptionSecret(),
		SecretboxEncryptionSecret: cluster.SecretboxEncryptionSecret(),
		BootstrapTokenID:          cluster.Token().ID(),
		BootstrapTokenSecret:      cluster.Token().Secret(),
	}

	if prism := cfg.Machine().Features().KubePrism(); prism.Enabled() {
		spec.LocalEndpoint.Host = fmt.Sprintf("127.0.0.1:%d", prism.Port())
	}

	spec.IssuingCA, spec.AcceptedCAs = authority(cluster.IssuingCA(), cluster.AcceptedCAs())

	switch {
	case spec.AggregatorCA == nil:
		return spec, errors.New("missing cluster.aggregatorCA secret")
	case len(spec.AcceptedCAs) == 0:
		return spec, errors.New("missing cluster.CA secret")
	}

	return spec, nil
}
