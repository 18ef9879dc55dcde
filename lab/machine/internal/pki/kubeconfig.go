package pki

import (
	"bytes"
	"errors"
	"fmt"
	"net"

	"github.com/siderolabs/talos/pkg/kubeconfig"
	"github.com/siderolabs/talos/pkg/machinery/config"
	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"k8s.io/client-go/tools/clientcmd"
)

var errNoKubernetesKey = errors.New("this machine has no key of the Kubernetes CA")

// AdminKubeconfig is what the Kubeconfig call answers: an administrator at the endpoint that the config declares.
func AdminKubeconfig(cfg config.Config) ([]byte, error) {
	if !hasKubernetesKey(cfg) {
		return nil, errNoKubernetesKey
	}

	var out bytes.Buffer

	if err := kubeconfig.GenerateAdmin(administrated{cfg.K8sClusterConfig(), cfg.K8sAPIServerCAConfig(), cfg.Cluster()}, &out); err != nil {
		return nil, err
	}

	return out.Bytes(), nil
}

// administrated is what Talos asks of a config for a kubeconfig.
type administrated struct {
	talosconfig.K8sClusterConfig
	talosconfig.K8sAPIServerCAConfig
	talosconfig.ClusterConfig
}

// OwnKubeconfig is what the machine itself uses: Talos's own administrator, at the address where the lab's API server
// really listens. No config declares that address, so the certificate is checked for a name that it always has.
func OwnKubeconfig(cfg config.Config, api string) ([]byte, error) {
	if !hasKubernetesKey(cfg) {
		return nil, errNoKubernetesKey
	}

	if _, _, err := net.SplitHostPort(api); err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}

	authority := cfg.K8sAPIServerCAConfig()

	var out bytes.Buffer

	if err := kubeconfig.Generate(&kubeconfig.GenerateInput{
		ClusterName:         cfg.K8sClusterConfig().ClusterName(),
		IssuingCA:           authority.IssuingCA(),
		AcceptedCAs:         authority.AcceptedCAs(),
		CertificateLifetime: constants.KubernetesDefaultCertificateValidityDuration,
		CommonName:          constants.KubernetesTalosAdminCertCommonName,
		Organization:        constants.KubernetesAdminCertOrganization,
		Endpoint:            "https://" + api,
		Username:            "admin",
		ContextName:         "admin",
	}, &out); err != nil {
		return nil, err
	}

	parsed, err := clientcmd.Load(out.Bytes())
	if err != nil {
		return nil, err
	}

	for _, c := range parsed.Clusters {
		c.TLSServerName = "kubernetes.default.svc"
	}

	return clientcmd.Write(*parsed)
}

func hasKubernetesKey(cfg config.Config) bool {
	authority := cfg.K8sAPIServerCAConfig()

	return cfg.Cluster() != nil && cfg.K8sClusterConfig() != nil &&
		authority != nil && authority.IssuingCA() != nil && len(authority.IssuingCA().Key) > 0
}
