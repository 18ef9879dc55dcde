package resources

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/siderolabs/go-kubernetes/kubernetes/compatibility"
	"github.com/siderolabs/talos/pkg/argsbuilder"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	kubeletrules "github.com/siderolabs/talos/pkg/machinery/kubelet"
	"github.com/siderolabs/talos/pkg/machinery/labels"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// staticPodURL is where a kubelet would get its static pods. Nothing listens there: the lab's kubelets are told by file.
const staticPodURL = "http://127.0.0.1:45137"

// ImageVersion is the version in the tag of an image of Kubernetes, such as v1.36.0; empty if there is none.
func ImageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")

	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[i+1:]
	}

	return ""
}

// kubelet is how the kubelet is to be run. `talosctl upgrade-k8s` reads its image and flags here.
func kubelet(f *facts) ([]owned, error) {
	if !f.configured() || f.active.K8sNetworkConfig() == nil || f.active.K8sNodeConfig() == nil || f.active.K8sKubeletConfig() == nil {
		return nil, nil
	}

	cfg := kubeletConfig(f.active)

	out := []owned{
		of("k8s.StaticPodServerController",
			k8s.NewStaticPodServerStatus(k8s.NamespaceName, k8s.StaticPodServerStatusResourceID),
			k8s.StaticPodServerStatusSpec{URL: staticPodURL}),
		of("k8s.KubeletConfigController", k8s.NewKubeletConfig(k8s.NamespaceName, k8s.KubeletID), cfg),
	}

	spec, err := kubeletSpec(f, cfg)
	if err != nil || spec == nil {
		return out, err
	}

	return append(out,
		of("k8s.KubeletSpecController", k8s.NewKubeletSpec(k8s.NamespaceName, k8s.KubeletID), *spec),
		of("k8s.KubeletStatusController", k8s.NewKubeletStatus(k8s.NamespaceName, k8s.KubeletID),
			k8s.KubeletStatusSpec{Image: spec.Image})), nil
}

func kubeletConfig(cfg config.Config) k8s.KubeletConfigSpec {
	kubelet, node, network := cfg.K8sKubeletConfig(), cfg.K8sNodeConfig(), cfg.K8sNetworkConfig()

	dns := kubelet.ClusterDNS()
	if len(dns) == 0 {
		for _, ip := range k8s.DNSServiceAddrs(network.ServiceCIDRs()) {
			dns = append(dns, ip.String())
		}
	}

	spec := k8s.KubeletConfigSpec{
		Image:                        kubelet.Image(),
		ClusterDNS:                   dns,
		ClusterDomain:                network.DNSDomain(),
		ExtraArgs:                    argValues(kubelet.ExtraArgs()),
		ExtraMounts:                  kubelet.ExtraMounts(),
		ExtraConfig:                  kubelet.ExtraConfig(),
		CloudProviderExternal:        cfg.Cluster().ExternalCloudProvider().Enabled(),
		DefaultRuntimeSeccompEnabled: kubelet.DefaultRuntimeSeccompProfileEnabled(),
		SkipNodeRegistration:         node.SkipNodeRegistration(),
		StaticPodListURL:             staticPodURL,
		DisableManifestsDirectory:    kubelet.DisableManifestsDirectory(),
		EnableFSQuotaMonitoring:      cfg.Machine().Features().DiskQuotaSupportEnabled(),
		RegisterWithTaints:           node.Taints(),
	}

	if provider := cfg.K8sCredentialProviderConfig(); provider != nil {
		spec.CredentialProviderConfig = provider.Configuration()
	}

	return spec
}

// KubeletSettings are those with which the kubelet is started; nil if the config does not have it run.
func KubeletSettings(cfg config.Config) any {
	if cfg.K8sKubeletConfig() == nil || cfg.K8sNodeConfig() == nil || cfg.K8sNetworkConfig() == nil {
		return nil
	}

	spec := kubeletConfig(cfg)
	spec.RegisterWithTaints = nil // only counts once

	return spec
}

// kubeletSpec is nil while the machine has no name or no address for its node.
func kubeletSpec(f *facts, cfg k8s.KubeletConfigSpec) (*k8s.KubeletSpecSpec, error) {
	name := f.nodename()
	if name == "" {
		return nil, nil
	}

	args := argsbuilder.Args{
		"config":            {"/etc/kubernetes/kubelet.yaml"},
		"cert-dir":          {constants.KubeletPKIDir},
		"hostname-override": {name},
	}

	if !cfg.SkipNodeRegistration {
		args["bootstrap-kubeconfig"] = argsbuilder.Value{constants.KubeletBootstrapKubeconfig}
		args["kubeconfig"] = argsbuilder.Value{constants.KubeletKubeconfig}
	}

	if cfg.CloudProviderExternal {
		args["cloud-provider"] = argsbuilder.Value{"external"}
	}

	extra := argsbuilder.Args(f.active.K8sKubeletConfig().ExtraArgs())

	if extra.Contains("hostname-override") {
		name = ""
	}

	if !extra.Contains("node-ip") {
		ips, err := f.nodeIPs(nodeIPConfig(f.active))
		if err != nil || len(ips) == 0 {
			return nil, err
		}

		args["node-ip"] = argsbuilder.Value{joinAddresses(ips)}
	}

	if err := args.Merge(extra, argsbuilder.WithMergePolicies(denied(
		"bootstrap-kubeconfig", "kubeconfig", "container-runtime", "container-runtime-endpoint", "config", "cert-dir",
	))); err != nil {
		return nil, fmt.Errorf("error merging arguments: %w", err)
	}

	if cfg.CredentialProviderConfig != nil {
		args["image-credential-provider-bin-dir"] = argsbuilder.Value{constants.KubeletCredentialProviderBinDir}
		args["image-credential-provider-config"] = argsbuilder.Value{constants.KubeletCredentialProviderConfig}
	}

	configuration, err := kubeletConfiguration(f, cfg)
	if err != nil {
		return nil, err
	}

	return &k8s.KubeletSpecSpec{
		Image:                    cfg.Image,
		Args:                     args.Args(),
		ExtraMounts:              cfg.ExtraMounts,
		ExpectedNodename:         name,
		Config:                   configuration,
		CredentialProviderConfig: cfg.CredentialProviderConfig,
	}, nil
}

// kubeletConfiguration is the kubelet's own config file: what Talos insists on, what the machine config sets, and
// Talos's defaults for the rest.
func kubeletConfiguration(f *facts, cfg k8s.KubeletConfigSpec) (map[string]any, error) {
	for _, field := range kubeletrules.ProtectedConfigurationFields {
		if _, set := cfg.ExtraConfig[field]; set {
			return nil, fmt.Errorf("field %q can't be overridden", field)
		}
	}

	reserved := constants.KubeletSystemReservedMemoryWorker
	if f.controlPlane() {
		reserved = constants.KubeletSystemReservedMemoryControlPlane
	}

	out := map[string]any{
		"address":                         "0.0.0.0",
		"oomScoreAdj":                     constants.KubeletOOMScoreAdj,
		"clusterDomain":                   cfg.ClusterDomain,
		"clusterDNS":                      cfg.ClusterDNS,
		"serializeImagePulls":             false,
		"failSwapOn":                      false,
		"logging":                         map[string]any{"format": "json"},
		"shutdownGracePeriod":             constants.KubeletShutdownGracePeriod.String(),
		"shutdownGracePeriodCriticalPods": constants.KubeletShutdownGracePeriodCriticalPods.String(),
		"streamingConnectionIdleTimeout":  "5m0s",
		"tlsMinVersion":                   "VersionTLS13",
		"systemReserved": map[string]any{
			"cpu":               constants.KubeletSystemReservedCPU,
			"memory":            reserved,
			"pid":               constants.KubeletSystemReservedPid,
			"ephemeral-storage": constants.KubeletSystemReservedEphemeralStorage,
		},
	}

	taints, err := kubeletTaints(f.active.K8sKubeletConfig())
	if err != nil {
		return nil, err
	}

	byFlag := len(cfg.ExtraArgs["register-with-taints"].Values) > 0
	for field, value := range cfg.ExtraConfig {
		out[field] = value
	}

	if wanted := firstTaints(f, cfg, taints); len(wanted) > 0 && !cfg.SkipNodeRegistration && !byFlag {
		out["registerWithTaints"] = wanted
	}

	authorization := "Webhook"
	if cfg.SkipNodeRegistration {
		authorization = "AlwaysAllow"
	}

	for field, value := range map[string]any{
		"apiVersion":   "kubelet.config.k8s.io/v1beta1",
		"kind":         "KubeletConfiguration",
		"staticPodURL": cfg.StaticPodListURL,
		"port":         constants.KubeletPort,
		"authentication": map[string]any{
			"x509":      map[string]any{"clientCAFile": constants.KubernetesCACert},
			"webhook":   map[string]any{"enabled": !cfg.SkipNodeRegistration},
			"anonymous": map[string]any{"enabled": false},
		},
		"authorization":            map[string]any{"mode": authorization},
		"cgroupRoot":               "/",
		"systemCgroups":            constants.CgroupSystem,
		"kubeletCgroups":           constants.CgroupKubelet,
		"rotateCertificates":       true,
		"protectKernelDefaults":    true,
		"containerRuntimeEndpoint": "unix://" + constants.CRIContainerdAddress,
		"resolvConf":               constants.PodResolvConfPath,
	} {
		out[field] = value
	}

	if !cfg.DisableManifestsDirectory {
		out["staticPodPath"] = constants.ManifestsDirectory
	}

	if cfg.DefaultRuntimeSeccompEnabled {
		out["seccompDefault"] = true
	}

	if cfg.EnableFSQuotaMonitoring {
		gates := map[string]any{"LocalStorageCapacityIsolationFSQuotaMonitoring": true}
		if own, ok := out["featureGates"].(map[string]any); ok {
			for name, on := range own {
				gates[name] = on
			}
		}

		out["featureGates"] = gates
	}

	return plainJSON(out)
}

// firstTaints are those with which the kubelet registers the node: what its own config says, and what Talos will keep
// there. Before 1.14 that was the taint of control planes alone.
func firstTaints(f *facts, cfg k8s.KubeletConfigSpec, own []Taint) []Taint {
	out := slices.Clone(own)

	for key, text := range cfg.RegisterWithTaints {
		if !f.behaviour().KubernetesDocuments && key != constants.LabelNodeRoleControlPlane {
			continue
		}

		if !slices.ContainsFunc(own, func(t Taint) bool { return t.Key == key }) {
			value, effect := labels.ParseTaint(text)
			out = append(out, Taint{Key: key, Value: value, Effect: effect})
		}
	}

	slices.SortFunc(out, func(a, b Taint) int { return strings.Compare(a.Key, b.Key) })

	return out
}

// plainJSON turns values of any types into those that a resource can carry.
func plainJSON(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}

	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}

	return out, nil
}

// denied are flags that a config must not set.
func denied(flags ...string) argsbuilder.MergePolicies {
	out := argsbuilder.MergePolicies{}
	for _, flag := range flags {
		out[flag] = argsbuilder.MergeDenied
	}

	return out
}

func argValues(args map[string][]string) map[string]k8s.ArgValues {
	out := make(map[string]k8s.ArgValues, len(args))
	for flag, values := range args {
		out[flag] = k8s.ArgValues{Values: values}
	}

	return out
}

func joinAddresses(addresses []netip.Addr) string {
	var out []string
	for _, a := range addresses {
		out = append(out, a.String())
	}

	return strings.Join(out, ",")
}

// kubernetesVersion of an image, for features that came or went with one.
func kubernetesVersion(image string) compatibility.Version {
	return compatibility.VersionFromImageRef(image)
}
