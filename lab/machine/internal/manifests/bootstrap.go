package manifests

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/siderolabs/talos/pkg/images"
	"github.com/siderolabs/talos/pkg/machinery/config"
	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"firstlight.dev/lab/machine/internal/behaviour"
)

// wanted says whether a machine with this config has manifests at all: only control planes do, and of those not the ones
// whose documents leave out networks or endpoint.
func wanted(cfg config.Config) bool {
	return cfg != nil && cfg.Machine() != nil && cfg.Cluster() != nil && cfg.Machine().Type().IsControlPlane() &&
		cfg.K8sNetworkConfig() != nil && cfg.K8sClusterConfig() != nil
}

// Bootstrap is what the config of a control plane says about Talos's own manifests.
func Bootstrap(cfg config.Provider, does behaviour.Behaviour) (k8s.BootstrapManifestsConfigSpec, error) {
	network := cfg.K8sNetworkConfig()

	spec := k8s.BootstrapManifestsConfigSpec{
		Server:                 cfg.K8sClusterConfig().ClusterEndpoint().String(),
		ClusterDomain:          network.DNSDomain(),
		PodCIDRs:               texts(network.PodCIDRs()),
		CNIName:                constants.NoneCNI,
		TalosAPIServiceEnabled: cfg.K8sTalosAPIAccessConfig() != nil,
	}

	for _, address := range k8s.DNSServiceAddrs(network.ServiceCIDRs()) {
		switch {
		case address.Is4() && spec.DNSServiceIP == "":
			spec.DNSServiceIP = address.String()
		case address.Is6() && spec.DNSServiceIPv6 == "":
			spec.DNSServiceIPv6 = address.String()
		}
	}

	if dns := cfg.K8sCoreDNSConfig(); dns != nil {
		spec.CoreDNSEnabled, spec.CoreDNSImage = dns.Enabled(), dns.Image()
	}

	if flannel := cfg.K8sFlannelCNIConfig(); flannel != nil {
		sayFlannel(&spec, cfg, flannel)
	} else if !does.KubernetesDocuments && len(cniURLs(cfg)) > 0 {
		spec.CNIName = constants.CustomCNI
	}

	if prism := cfg.K8sKubePrismConfig(); prism != nil {
		port := strconv.Itoa(prism.Port())
		spec.Server = "https://127.0.0.1:" + port

		if spec.FlannelEnabled {
			spec.FlannelKubeServiceHost, spec.FlannelKubeServicePort = "127.0.0.1", port
		}
	}

	if proxy := cfg.K8sProxyConfig(); proxy != nil {
		spec.ProxyEnabled, spec.ProxyImage, spec.ProxyResources = proxy.Enabled(), proxy.Image(), resourcesOf(proxy.Resources())

		if err := sayProxy(&spec, proxy, does); err != nil {
			return spec, err
		}
	}

	return spec, refuseImages(spec)
}

// sayFlannel is what a config says of Flannel.
func sayFlannel(spec *k8s.BootstrapManifestsConfigSpec, cfg config.Config, flannel talosconfig.K8sFlannelCNIConfig) {
	spec.CNIName, spec.FlannelEnabled = constants.FlannelCNI, true
	spec.FlannelImage = images.Flannel().String()
	spec.FlannelBackendType = flannel.BackendType()
	spec.FlannelBackendPort = flannel.BackendPort().ValueOrZero()
	spec.FlannelBackendMTU = flannel.BackendMTU().ValueOrZero()
	spec.FlannelBackendExtraConfig = flannel.BackendExtraConfig()
	spec.FlannelResources = resourcesOf(flannel.Resources())
	spec.FlannelExtraArgs = flannel.ExtraArgs()
	spec.FlannelKubeNetworkPoliciesEnabled = flannel.KubeNetworkPoliciesEnabled()
	spec.FlannelKubeNetworkPoliciesImage = images.KubeNetworkPolicies().String()

	if span := cfg.NetworkKubeSpanConfig(); spec.FlannelBackendMTU == 0 && span != nil && span.Enabled() {
		spec.FlannelBackendMTU = span.MTU()
	}
}

// refuseImages finds references that cannot be parsed; in a machine that is a failed controller.
func refuseImages(spec k8s.BootstrapManifestsConfigSpec) error {
	var errs []error

	for _, image := range []string{spec.ProxyImage, spec.CoreDNSImage} {
		if strings.ContainsAny(image, " \t\n") {
			errs = append(errs, fmt.Errorf("images of the config: could not parse reference: %s", image))
		}
	}

	return errors.Join(errs...)
}

// texts are networks as text.
func texts(networks []netip.Prefix) []string {
	out := make([]string, len(networks))
	for i, network := range networks {
		out[i] = network.String()
	}

	return out
}
