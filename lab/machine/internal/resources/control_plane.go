package resources

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// controlPlane is how API server, controller manager and scheduler are to be run. The versions of these three resources
// are in the annotations of their pods: `talosctl upgrade-k8s` waits for a pod with the version that it has seen.
//
// Manifests are not published here, but by those who apply them.
func controlPlane(f *facts) ([]owned, error) {
	if !f.controlPlane() {
		return nil, nil
	}

	out := []owned{
		of("k8s.ControlPlaneAdmissionControlController", k8s.NewAdmissionControlConfig(), admissionControl(f.active)),
		of("k8s.ControlPlaneAuthorizationPolicyController", k8s.NewAuthorizationConfig(), authorization(f.active)),
	}

	if policy := f.active.K8sAuditPolicyConfig(); policy != nil {
		out = append(out, of("k8s.ControlPlaneAuditPolicyController", k8s.NewAuditPolicyConfig(),
			k8s.AuditPolicyConfigSpec{Config: policy.Configuration()}))
	}

	if authentication := f.active.K8sAuthenticationConfig(); authentication != nil {
		out = append(out, of("k8s.ControlPlaneAuthenticationController", k8s.NewAuthenticationConfig(),
			k8s.AuthenticationConfigSpec{Config: kubernetesFile(authentication.Configuration(),
				"apiserver.config.k8s.io/v1beta1", "AuthenticationConfiguration")}))
	}

	if !HasKubernetes(f.active) {
		return out, nil
	}

	server, manager, scheduler := apiServerConfig(f.active), controllerManagerConfig(f.active), schedulerConfig(f.active)

	out = append(out,
		of("k8s.ControlPlaneAPIServerController", k8s.NewAPIServerConfig(k8s.APIServerConfigID), server),
		of("k8s.ControlPlaneControllerManagerController",
			k8s.NewControllerManagerConfig(k8s.ControllerManagerConfigID), manager),
		of("k8s.ControlPlaneSchedulerController", k8s.NewSchedulerConfig(k8s.SchedulerConfigID), scheduler))

	if !f.behaviour().FinalConfigs {
		return out, nil
	}

	final, err := finalConfigs(f, server, manager, scheduler)

	return append(out, final...), err
}

// finalConfigs are those with all flags, by which `talosctl upgrade-k8s` of Talos 1.14 recognises a pod.
func finalConfigs(
	f *facts, server k8s.APIServerConfigSpec, manager k8s.ControllerManagerConfigSpec, scheduler k8s.SchedulerConfigSpec,
) ([]owned, error) {
	var errs []error

	for _, one := range []struct {
		args    *[]string
		command func(*facts) ([]string, error)
		used    bool
	}{
		{&server.Args, apiServerCommand, true},
		{&manager.Args, controllerManagerCommand, manager.Enabled},
		{&scheduler.Args, schedulerCommand, scheduler.Enabled},
	} {
		if one.used {
			var err error

			*one.args, err = one.command(f)
			errs = append(errs, err)
		}
	}

	// What went into the flags is not there a second time.
	server.ExtraArgs, manager.ExtraArgs, scheduler.ExtraArgs = nil, nil, nil
	manager.PodCIDRs, manager.ServiceCIDRs, manager.CloudProvider = nil, nil, ""
	manager.NodeCIDRMaskSizeIPv4, manager.NodeCIDRMaskSizeIPv6 = 0, 0

	if !manager.Enabled {
		manager = k8s.ControllerManagerConfigSpec{}
	}

	if scheduler.Config = kubernetesFile(scheduler.Config, "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"); !scheduler.Enabled {
		scheduler = k8s.SchedulerConfigSpec{}
	}

	return []owned{
		of("k8s.ControlPlaneAPIServerFinalController", k8s.NewAPIServerConfig(k8s.FinalAPIServerConfigID), server),
		of("k8s.ControlPlaneControllerManagerFinalController",
			k8s.NewControllerManagerConfig(k8s.FinalControllerManagerConfigID), manager),
		of("k8s.ControlPlaneSchedulerFinalController", k8s.NewSchedulerConfig(k8s.FinalSchedulerConfigID), scheduler),
	}, errors.Join(errs...)
}

// HasKubernetes says whether a config tells enough for a control plane: documents may leave out what the fields of
// earlier versions had defaults for.
func HasKubernetes(cfg config.Config) bool {
	return cfg.K8sNetworkConfig() != nil && cfg.K8sClusterConfig() != nil && cfg.K8sAPIServerConfig() != nil &&
		cfg.K8sControllerManagerConfig() != nil && cfg.K8sSchedulerConfig() != nil
}

// kubernetesFile is a config file of a component of Kubernetes: what the machine config says, and what it is.
func kubernetesFile(content map[string]any, version, kind string) map[string]any {
	out, err := plainJSON(content)
	if err != nil || out == nil {
		out = map[string]any{}
	}

	out["apiVersion"], out["kind"] = version, kind

	return out
}

func cloudProvider(cfg config.Config) string {
	if cfg.Cluster().ExternalCloudProvider().Enabled() {
		return "external"
	}

	return ""
}

func apiServerConfig(cfg config.Config) k8s.APIServerConfigSpec {
	server := cfg.K8sAPIServerConfig()

	spec := k8s.APIServerConfigSpec{
		Image:                   server.Image(),
		CloudProvider:           cloudProvider(cfg),
		ControlPlaneEndpoint:    cfg.K8sClusterConfig().ClusterEndpoint().String(),
		EtcdServers:             []string{"https://" + nethelpers.JoinHostPort("127.0.0.1", constants.EtcdClientPort)},
		LocalPort:               server.APIPort(),
		ServiceCIDRs:            Prefixes(cfg.K8sNetworkConfig().ServiceCIDRs()),
		ExtraArgs:               argValues(server.ExtraArgs()),
		ExtraVolumes:            extraVolumes(server.ExtraVolumes()),
		EnvironmentVariables:    server.Env(),
		AdvertisedAddress:       "$(POD_IP)",
		Resources:               podResources(server.Resources()),
		StartupProbesEnabled:    server.StartupProbesEnabled(),
		UseAuthenticationConfig: server.UseAuthenticationConfig(),
	}

	if node := cfg.K8sNodeConfig(); node != nil && node.SkipNodeRegistration() {
		spec.AdvertisedAddress = ""
	}

	return spec
}

func controllerManagerConfig(cfg config.Config) k8s.ControllerManagerConfigSpec {
	manager, network := cfg.K8sControllerManagerConfig(), cfg.K8sNetworkConfig()

	return k8s.ControllerManagerConfigSpec{
		Enabled:              manager.Enabled(),
		Image:                manager.Image(),
		CloudProvider:        cloudProvider(cfg),
		PodCIDRs:             Prefixes(network.PodCIDRs()),
		ServiceCIDRs:         Prefixes(network.ServiceCIDRs()),
		NodeCIDRMaskSizeIPv4: network.NodeCIDRMaskSizeIPv4(),
		NodeCIDRMaskSizeIPv6: network.NodeCIDRMaskSizeIPv6(),
		ExtraArgs:            argValues(manager.ExtraArgs()),
		ExtraVolumes:         extraVolumes(manager.ExtraVolumes()),
		EnvironmentVariables: manager.Env(),
		Resources:            podResources(manager.Resources()),
	}
}

func schedulerConfig(cfg config.Config) k8s.SchedulerConfigSpec {
	scheduler := cfg.K8sSchedulerConfig()

	return k8s.SchedulerConfigSpec{
		Enabled:              scheduler.Enabled(),
		Image:                scheduler.Image(),
		ExtraArgs:            argValues(scheduler.ExtraArgs()),
		ExtraVolumes:         extraVolumes(scheduler.ExtraVolumes()),
		EnvironmentVariables: scheduler.Env(),
		Resources:            podResources(scheduler.Resources()),
		Config:               scheduler.Config(),
	}
}

func admissionControl(cfg config.Config) k8s.AdmissionControlConfigSpec {
	var spec k8s.AdmissionControlConfigSpec

	for _, plugin := range cfg.K8sAdmissionControlPluginConfigs() {
		spec.Config = append(spec.Config, k8s.AdmissionPluginSpec{Name: plugin.Name(), Configuration: plugin.Configuration()})
	}

	return spec
}

// requiredAuthorizers are added to a config that says them by the fields of earlier versions.
var requiredAuthorizers = []k8s.AuthorizationAuthorizersSpec{{Type: "Node", Name: "node"}, {Type: "RBAC", Name: "rbac"}}

// authorization are the configured authorizers.
func authorization(cfg config.Config) k8s.AuthorizationConfigSpec {
	server := cfg.K8sAPIServerConfig()
	if server == nil {
		return k8s.AuthorizationConfigSpec{}
	}

	spec := k8s.AuthorizationConfigSpec{Image: server.Image()}

	for _, a := range cfg.K8sAuthorizerConfigs() {
		spec.Config = append(spec.Config, k8s.AuthorizationAuthorizersSpec{Type: a.Type(), Name: a.Name(), Webhook: a.Webhook()})
	}

	if !server.InjectDefaultAuthorizers() {
		return spec
	}

	for position, required := range requiredAuthorizers {
		if !slices.ContainsFunc(spec.Config, func(a k8s.AuthorizationAuthorizersSpec) bool { return a.Type == required.Type }) {
			spec.Config = slices.Insert(spec.Config, position, required)
		}
	}

	return spec
}

// Prefixes are networks as text.
func Prefixes(networks []netip.Prefix) []string {
	out := make([]string, 0, len(networks))
	for _, network := range networks {
		out = append(out, network.String())
	}

	return out
}

func extraVolumes(volumes []talosconfig.VolumeMount) []k8s.ExtraVolume {
	var out []k8s.ExtraVolume

	for _, v := range volumes {
		out = append(out, k8s.ExtraVolume{
			Name: v.Name(), HostPath: v.HostPath(), MountPath: v.MountPath(), ReadOnly: v.ReadOnly(),
		})
	}

	return out
}

func podResources(resources talosconfig.Resources) k8s.Resources {
	out := k8s.Resources{
		Requests: map[string]string{"cpu": resources.CPURequests(), "memory": resources.MemoryRequests()},
	}

	for name, limit := range map[string]string{"cpu": resources.CPULimits(), "memory": resources.MemoryLimits()} {
		if limit == "" {
			continue
		}

		if out.Limits == nil {
			out.Limits = map[string]string{}
		}

		out.Limits[name] = limit
	}

	return out
}

// configFileVersion is what Talos writes into the annotation for the API server's config files: the versions of the
// resources that they come from, one after the other.
func configFileVersion(f *facts, version versions) string {
	last := k8s.NewSchedulerConfig(k8s.SchedulerConfigID).Metadata()
	if f.behaviour().FinalConfigs {
		last = k8s.NewAuthenticationConfig().Metadata()
	}

	return version(k8s.NewAdmissionControlConfig().Metadata()) + version(k8s.NewAuditPolicyConfig().Metadata()) +
		version(k8s.NewAuthorizationConfig().Metadata()) + version(last)
}
