package behaviour

import (
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// documentsOf14 are the kinds of documents that came with Talos 1.14.
var documentsOf14 = []string{
	"BGPInstanceConfig", "CRIBaseRuntimeSpecConfig", "CRICustomizationConfig", "ContainerConfig",
	"DiscoveryIdentityConfig", "DiscoveryServiceConfig", "EtcFileConfig", "FilesystemScrubConfig",
	"FilesystemTrimConfig", "HTTPProbeConfig", "ImageCacheConfig", "KernelModuleConfig", "KubeAPIServerCAConfig",
	"KubeAPIServerConfig", "KubeAdmissionControlConfig", "KubeAggregatorCAConfig", "KubeAuditPolicyConfig",
	"KubeAuthenticationConfig", "KubeAuthorizerConfig", "KubeClusterConfig", "KubeControllerManagerConfig",
	"KubeCoreDNSConfig", "KubeCredentialProviderConfig", "KubeEtcdEncryptionConfig", "KubeExternalManifestConfig",
	"KubeFlannelCNIConfig", "KubeInlineManifestConfig", "KubeNetworkConfig", "KubeNodeConfig", "KubePrismConfig",
	"KubeProxyConfig", "KubeSchedulerConfig", "KubeServiceAccountConfig", "KubeStaticPodConfig",
	"KubeTalosAPIAccessConfig", "KubeletConfig", "LVMLogicalVolumeConfig", "LVMVolumeGroupConfig",
	"RAIDArrayConfig", "SecurityProfileConfig", "SysctlConfig", "SysfsConfig", "UdevRulesConfig",
	"UnattendedInstallConfig", "VethConfig",
}

// Load reads a config as this version does.
func (b Behaviour) Load(data []byte) (config.Provider, error) {
	cfg, err := configloader.NewFromBytes(data)
	if err != nil || b.KubernetesDocuments {
		return cfg, err
	}

	documents, isComplete := cfg.Documents(), true

	for i, document := range documents {
		if kind, version := document.Kind(), document.APIVersion(); slices.Contains(documentsOf14, kind) {
			return nil, fmt.Errorf("error decoding document %s/%s/: %q %q: not registered", version, kind, kind, version)
		}

		if legacy, ok := document.(*v1alpha1.Config); ok && lacksNetwork(legacy) {
			documents[i], isComplete = withNetwork(legacy), false
		}
	}

	if isComplete {
		return cfg, nil // with its text as it was written
	}

	return container.New(documents...)
}

func lacksNetwork(cfg *v1alpha1.Config) bool {
	return cfg.ClusterConfig != nil && cfg.ClusterConfig.ClusterNetwork == nil
}

// withNetwork adds the networks and the CNI that a config without them had before Talos 1.14.
func withNetwork(cfg *v1alpha1.Config) *v1alpha1.Config {
	completed := cfg.DeepCopy()
	completed.ClusterConfig.ClusterNetwork = &v1alpha1.ClusterNetworkConfig{}

	return completed
}
