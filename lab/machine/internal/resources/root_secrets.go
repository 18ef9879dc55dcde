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
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
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

	if etcd := f.active.Cluster().Etcd(); etcd != nil && etcd.CA() != nil {
		out = append(out, of("secrets.RootEtcdController", secrets.NewEtcdRoot(secrets.EtcdRootID),
			secrets.EtcdRootSpec{EtcdCA: etcd.CA()}))
	} else {
		errs = append(errs, errors.New("missing cluster.etcdCA secret"))
	}

	if root, err := kubernetesRoot(f.active); err != nil {
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

	if cfg.K8sTalosAPIAccessConfig() != nil {
		spec.CertSANDNSNames = append(spec.CertSANDNSNames,
			constants.KubernetesTalosAPIServiceName,
			constants.KubernetesTalosAPIServiceName+"."+constants.KubernetesTalosAPIServiceNamespace)
	}

	return spec
}

func kubernetesRoot(cfg config.Config) (secrets.KubernetesRootSpec, error) {
	named, server, authority := cfg.K8sClusterConfig(), cfg.K8sAPIServerConfig(), cfg.K8sAPIServerCAConfig()
	aggregator, accounts := cfg.K8sAggregatorCAConfig(), cfg.K8sServiceAccountConfig()

	switch {
	case named == nil:
		return secrets.KubernetesRootSpec{}, errors.New("missing name or endpoint of the cluster")
	case aggregator == nil:
		return secrets.KubernetesRootSpec{}, errors.New("missing cluster.aggregatorCA secret")
	case authority == nil || len(authority.AcceptedCAs()) == 0:
		return secrets.KubernetesRootSpec{}, errors.New("missing cluster.CA secret")
	case accounts == nil:
		return secrets.KubernetesRootSpec{}, errors.New("missing cluster.serviceAccount secret")
	}

	cluster := cfg.Cluster()

	spec := secrets.KubernetesRootSpec{
		Name:                       named.ClusterName(),
		Endpoint:                   named.ClusterEndpoint(),
		LocalEndpoint:              &url.URL{Scheme: "https", Host: fmt.Sprintf("localhost:%d", server.APIPort())},
		CertSANs:                   server.CertSANs(),
		IssuingCA:                  authority.IssuingCA(),
		AcceptedCAs:                authority.AcceptedCAs(),
		AggregatorCA:               aggregator.IssuingCA(),
		AcceptedAggregatorCAs:      aggregator.AcceptedCAs(),
		ServiceAccount:             accounts.IssuingKey(),
		ServiceAccountAcceptedKeys: accounts.AcceptedKeys(),
		IssuerURL:                  accounts.IssuerURL(),
		AcceptedIssuers:            accounts.AcceptedIssuers(),
		APIAudiences:               accounts.APIAudiences(),
		AESCBCEncryptionSecret:     cluster.AESCBCEncryptionSecret(),
		SecretboxEncryptionSecret:  cluster.SecretboxEncryptionSecret(),
		BootstrapTokenID:           cluster.Token().ID(),
		BootstrapTokenSecret:       cluster.Token().Secret(),
	}

	if network := cfg.K8sNetworkConfig(); network != nil {
		spec.APIServerIPs, spec.DNSDomain = k8s.APIServerServiceAddrs(network.ServiceCIDRs()), network.DNSDomain()
	}

	if prism := cfg.K8sKubePrismConfig(); prism != nil {
		spec.LocalEndpoint.Host = fmt.Sprintf("127.0.0.1:%d", prism.Port())
	}

	if encryption := cfg.K8sEtcdEncryptionConfig(); encryption != nil {
		spec.EtcdEncryptionConfig = encryption.EtcdEncryptionConfig()
	}

	return spec, nil
}
