package resources

import (
	"context"
	"fmt"

	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"github.com/cosi-project/runtime/pkg/state/registry"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/containers"
	"github.com/siderolabs/talos/pkg/machinery/resources/cri"
	"github.com/siderolabs/talos/pkg/machinery/resources/etcd"
	"github.com/siderolabs/talos/pkg/machinery/resources/files"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/kubeaccess"
	"github.com/siderolabs/talos/pkg/machinery/resources/kubespan"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/perf"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/resources/security"
	"github.com/siderolabs/talos/pkg/machinery/resources/siderolink"
	"github.com/siderolabs/talos/pkg/machinery/resources/storage"
	"github.com/siderolabs/talos/pkg/machinery/resources/time"
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"
)

// namespaces of Talos 1.14 and what it says about them.
var namespaces = [][2]string{
	{v1alpha1.NamespaceName, "Talos v1alpha1 subsystems glue resources."},
	{cluster.NamespaceName, "Cluster configuration and discovery resources."},
	{cluster.RawNamespaceName, "Cluster unmerged raw resources."},
	{config.NamespaceName, "Talos node configuration."},
	{etcd.NamespaceName, "etcd resources."},
	{files.NamespaceName, "Files and file-like resources."},
	{hardware.NamespaceName, "Hardware resources."},
	{k8s.NamespaceName, "Kubernetes all node types resources."},
	{k8s.ControlPlaneNamespaceName, "Kubernetes control plane resources."},
	{kubespan.NamespaceName, "KubeSpan resources."},
	{network.NamespaceName, "Networking resources."},
	{network.ConfigNamespaceName, "Networking configuration resources."},
	{cri.NamespaceName, "CRI Seccomp resources."},
	{secrets.NamespaceName, "Resources with secret material."},
	{security.NamespaceName, "Security resources."},
	{perf.NamespaceName, "Stats resources."},
	{containers.NamespaceName, "Talos-managed container resources."},
	{storage.NamespaceName, "Storage resources."},
}

// kinds are the resource types of Talos 1.14, published here or not: `talosctl get` of a type that a machine has none
// of prints nothing, but of an unknown one it fails.
var kinds = []meta.ResourceWithRD{
	&block.Device{}, &block.DiscoveredVolume{}, &block.DiscoveryRefreshRequest{}, &block.DiscoveryRefreshStatus{},
	&block.Disk{}, &block.MountRequest{}, &block.MountStatus{}, &block.SwapStatus{}, &block.Symlink{},
	&block.SystemDisk{}, &block.UserDiskConfigStatus{}, &block.VolumeConfig{}, &block.VolumeLifecycle{},
	&block.VolumeMountRequest{}, &block.VolumeMountStatus{}, &block.VolumeStatus{}, &block.ZswapStatus{},
	&block.FSScrubSchedule{}, &block.FSScrubStatus{}, &block.VolumeTrimSchedule{},

	&containers.ContainerImageStatus{}, &containers.ContainerInstanceSpec{}, &containers.ContainerInstanceStatus{},
	&containers.ContainerLifecycle{}, &containers.ContainerMountStatus{}, &containers.ContainerSpec{},

	&cluster.Affiliate{}, &cluster.Config{}, &cluster.Identity{}, &cluster.Info{}, &cluster.Member{},

	&config.MachineConfig{}, &config.MachineType{},

	&cri.BaseRuntimeSpecConfig{}, &cri.CustomizationConfig{}, &cri.ImageCacheConfig{}, &cri.RegistriesConfig{}, &cri.SeccompProfile{},

	&etcd.Config{}, &etcd.Member{}, &etcd.PKIStatus{}, &etcd.Spec{},

	&files.EtcFileSpec{}, &files.EtcFileStatus{},

	&hardware.CPUCore{}, &hardware.MemoryModule{}, &hardware.PCIDevice{}, &hardware.PCIDriverRebindConfig{},
	&hardware.PCIDriverRebindStatus{}, &hardware.PCRStatus{}, &hardware.Processor{}, &hardware.SystemInformation{},

	&k8s.APIServerConfig{}, &k8s.AdmissionControlConfig{}, &k8s.AuditPolicyConfig{}, &k8s.AuthenticationConfig{},
	&k8s.AuthorizationConfig{}, &k8s.EtcdEncryptionConfig{}, &k8s.KubeletStatus{},
	&k8s.BootstrapManifestsConfig{}, &k8s.ConfigStatus{}, &k8s.ControllerManagerConfig{}, &k8s.Endpoint{},
	&k8s.ExtraManifestsConfig{}, &k8s.KubePrismConfig{}, &k8s.KubePrismEndpoints{}, &k8s.KubePrismStatuses{},
	&k8s.KubeletConfig{}, &k8s.KubeletKubeconfig{}, &k8s.KubeletLifecycle{}, &k8s.KubeletSpec{}, &k8s.Manifest{},
	&k8s.ManifestStatus{}, &k8s.NodeAnnotationSpec{}, &k8s.NodeCordonedSpec{}, &k8s.NodeIP{}, &k8s.NodeIPConfig{},
	&k8s.NodeLabelSpec{}, &k8s.NodeStatus{}, &k8s.NodeTaintSpec{}, &k8s.Nodename{}, &k8s.SchedulerConfig{},
	&k8s.SecretsStatus{}, &k8s.StaticPod{}, &k8s.StaticPodServerStatus{}, &k8s.StaticPodStatus{},

	&kubeaccess.Config{},

	&kubespan.Config{}, &kubespan.Endpoint{}, &kubespan.Identity{}, &kubespan.PeerSpec{}, &kubespan.PeerStatus{},

	&network.AddressSpec{}, &network.AddressStatus{}, &network.BGPInstanceConfig{}, &network.BGPPeerStatus{},
	&network.StaticHost{}, &network.DNSResolveCache{}, &network.DNSUpstream{},
	&network.DeviceConfigSpec{}, &network.EthernetSpec{}, &network.EthernetStatus{}, &network.HardwareAddr{},
	&network.HostDNSConfig{}, &network.HostnameSpec{}, &network.HostnameStatus{}, &network.LinkAliasSpec{},
	&network.LinkRefresh{}, &network.LinkSpec{}, &network.LinkStatus{}, &network.NfTablesChain{},
	&network.NodeAddress{}, &network.NodeAddressFilter{}, &network.NodeAddressSortAlgorithm{},
	&network.OperatorSpec{}, &network.PlatformConfig{}, &network.ProbeSpec{}, &network.ProbeStatus{},
	&network.ResolverSpec{}, &network.ResolverStatus{}, &network.RouteSpec{}, &network.RouteStatus{},
	&network.RoutingRuleSpec{}, &network.RoutingRuleStatus{}, &network.Status{}, &network.TimeServerSpec{},
	&network.TimeServerStatus{},

	&perf.CPU{}, &perf.Memory{},

	&runtime.BootID{}, &runtime.ImageFactorySchematic{}, &runtime.KernelModuleStatus{}, &runtime.RebootRequest{},
	&runtime.UnattendedInstallStatus{},

	&runtime.APIServiceConfig{}, &runtime.BootedEntry{}, &runtime.DevicesStatus{}, &runtime.Diagnostic{},
	&runtime.Environment{}, &runtime.EventSinkConfig{}, &runtime.ExtensionServiceConfig{},
	&runtime.ExtensionServiceConfigStatus{}, &runtime.ExtensionStatus{}, &runtime.KernelCmdline{},
	&runtime.KernelModuleSpec{}, &runtime.KernelParamDefaultSpec{}, &runtime.KernelParamSpec{},
	&runtime.KernelParamStatus{}, &runtime.KmsgLogConfig{}, &runtime.LoadedKernelModule{},
	&runtime.MachineResetSignal{}, &runtime.MachineStatus{}, &runtime.MaintenanceServiceConfig{},
	&runtime.MaintenanceServiceRequest{}, &runtime.MetaKey{}, &runtime.MetaLoaded{}, &runtime.MountStatus{},
	&runtime.OOMAction{}, &runtime.PlatformMetadata{}, &runtime.SBOMItem{}, &runtime.SecurityState{},
	&runtime.ServicePID{}, &runtime.UniqueMachineToken{}, &runtime.Version{}, &runtime.WatchdogTimerConfig{},
	&runtime.WatchdogTimerStatus{},

	&secrets.API{}, &secrets.CertSAN{}, &secrets.EncryptionSalt{}, &secrets.Etcd{}, &secrets.EtcdRoot{},
	&secrets.Kubelet{}, &secrets.Kubernetes{}, &secrets.KubernetesDynamicCerts{}, &secrets.KubernetesRoot{},
	&secrets.MaintenanceRoot{}, &secrets.OSRoot{}, &secrets.Trustd{},

	&security.ImageVerificationRule{}, &security.TUFTrustedRoot{},

	&siderolink.Config{}, &siderolink.Status{}, &siderolink.Tunnel{},

	&storage.LVMLogicalVolumeSpec{}, &storage.LVMLogicalVolumeStatus{}, &storage.LVMPhysicalVolumeSpec{},
	&storage.LVMPhysicalVolumeStatus{}, &storage.LVMRefreshRequest{}, &storage.LVMValidationError{},
	&storage.LVMVolumeGroupSpec{}, &storage.LVMVolumeGroupStatus{}, &storage.MDArraySpec{}, &storage.MDArrayStatus{},
	&storage.MDRefreshRequest{},

	&time.AdjtimeStatus{}, &time.NTPStatus{}, &time.Status{},

	&v1alpha1.AcquireConfigSpec{}, &v1alpha1.AcquireConfigStatus{}, &v1alpha1.Service{},
}

// newState is an empty state with everything registered.
func newState(ctx context.Context) (state.State, error) {
	st := state.WrapCore(namespaced.NewState(func(namespace string) state.CoreState {
		// A watcher that reads slowly is cut off when the history is full. Talos's own sizes.
		return inmem.NewStateWithOptions(
			inmem.WithHistoryInitialCapacity(8),
			inmem.WithHistoryMaxCapacity(1024),
			inmem.WithHistoryGap(4),
		)(namespace)
	}))

	spaces, definitions := registry.NewNamespaceRegistry(st), registry.NewResourceRegistry(st)

	if err := spaces.RegisterDefault(ctx); err != nil {
		return nil, fmt.Errorf("register default namespaces: %w", err)
	}

	if err := definitions.RegisterDefault(ctx); err != nil {
		return nil, fmt.Errorf("register default definitions: %w", err)
	}

	for _, n := range namespaces {
		if err := spaces.Register(ctx, n[0], n[1]); err != nil {
			return nil, fmt.Errorf("register namespace %s: %w", n[0], err)
		}
	}

	for _, k := range kinds {
		if err := definitions.Register(ctx, k); err != nil {
			return nil, fmt.Errorf("register %s: %w", k.ResourceDefinition().Type, err)
		}
	}

	return st, nil
}
