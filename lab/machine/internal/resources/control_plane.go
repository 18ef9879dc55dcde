package resources

import (
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
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

	return []owned{
		of("k8s.ControlPlaneAPIServerController", k8s.NewAPIServerConfig(), apiServerConfig(f.active)),
		of("k8s.ControlPlaneControllerManagerController", k8s.NewControllerManagerConfig(), controllerManagerConfig(f.active)),
		of("k8s.ControlPlaneSchedulerController", k8s.NewSchedulerConfig(), schedulerConfig(f.active)),
		of("k8s.ControlPlaneAdmissionControlController", k8s.NewAdmissionControlConfig(), admissionControl(f.active)),
		of("k8s.ControlPlaneAuditPolicyController", k8s.NewAuditPolicyConfig(),
			k8s.AuditPolicyConfigSpec{Config: f.active.Cluster().APIServer().AuditPolicy()}),
		of("k8s.ControlPlaneAuthorizationPolicyController", k8s.NewAuthorizationConfig(), authorization(f.active)),
		of("k8s.ControlPlaneExtraManifestsController", k8s.NewExtraManifestsConfig(), extraManifests(f.active)),
	}, nil
}

func cloudProvider(cfg config.Config) string {
	if cfg.Cluster().ExternalCloudProvider().Enabled() {
		return "external"
	}

	return ""
}

func apiServerConfig(cfg config.Config) k8s.APIServerConfigSpec {
	server := cfg.Cluster().APIServer()

	spec := k8s.APIServerConfigSpec{
		Image:                server.Image(),
		CloudProvider:        cloudProvider(cfg),
		EtcdServers:          []string{"https://" + nethelpers.JoinHostPort("127.0.0.1", constants.EtcdClientPort)},
		LocalPort:            cfg.Cluster().LocalAPIServerPort(),
		ServiceCIDRs:         cfg.Cluster().Network().ServiceCIDRs(),
		ExtraArgs:            argValues(server.ExtraArgs()),
		ExtraVolumes:         extraVolumes(server.ExtraVolumes()),
		EnvironmentVariables: server.Env(),
		AdvertisedAddress:    "$(POD_IP)",
		Resources:            podResources(server.Resources()),
	}

	if endpoint := cfg.Cluster().Endpoint(); endpoint != nil {
		spec.ControlPlaneEndpoint = endpoint.String()
	}

	if cfg.Machine().Kubelet().SkipNodeRegistration() {
		spec.AdvertisedAddress = ""
	}

	return spec
}

func controllerManagerConfig(cfg config.Config) k8s.ControllerManagerConfigSpec {
	manager := cfg.Cluster().ControllerManager()

	return k8s.ControllerManagerConfigSpec{
		Enabled:              !cfg.Machine().Controlplane().ControllerManager().Disabled(),
		Image:                manager.Image(),
		CloudProvider:        cloudProvider(cfg),
		PodCIDRs:             cfg.Cluster().Network().PodCIDRs(),
		ServiceCIDRs:         cfg.Cluster().Network().ServiceCIDRs(),
		ExtraArgs:            argValues(manager.ExtraArgs()),
		ExtraVolumes:         extraVolumes(manager.ExtraVolumes()),
		EnvironmentVariables: manager.Env(),
		Resources:            podResources(manager.Resources()),
	}
}

func schedulerConfig(cfg config.Config) k8s.SchedulerConfigSpec {
	scheduler := cfg.Cluster().Scheduler()

	return k8s.SchedulerConfigSpec{
		Enabled:              !cfg.Machine().Controlplane().Scheduler().Disabled(),
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

	for _, plugin := range cfg.Cluster().APIServer().AdmissionControl() {
		spec.Config = append(spec.Config, k8s.AdmissionPluginSpec{Name: plugin.Name(), Configuration: plugin.Configuration()})
	}

	return spec
}

// authorization are the configured authorizers; Node and RBAC are always among them.
func authorization(cfg config.Config) k8s.AuthorizationConfigSpec {
	server := cfg.Cluster().APIServer()
	spec := k8s.AuthorizationConfigSpec{Image: server.Image()}

	if !kubernetesVersion(server.Image()).KubeAPIServerSupportsAuthorizationConfigFile() {
		return spec
	}

	if server.AuthorizationConfig() == nil {
		spec.Config = v1alpha1.APIServerDefaultAuthorizationConfigAuthorizers

		return spec
	}

	for _, a := range server.AuthorizationConfig() {
		spec.Config = append(spec.Config, k8s.AuthorizationAuthorizersSpec{Type: a.Type(), Name: a.Name(), Webhook: a.Webhook()})
	}

	for position, required := range v1alpha1.APIServerDefaultAuthorizationConfigAuthorizers {
		if !slices.ContainsFunc(spec.Config, func(a k8s.AuthorizationAuthorizersSpec) bool { return a.Type == required.Type }) {
			spec.Config = slices.Insert(spec.Config, position, required)
		}
	}

	return spec
}

// extraManifests are those that the config adds, with Talos's priorities: a CNI comes early, the rest last.
func extraManifests(cfg config.Config) k8s.ExtraManifestsConfigSpec {
	var spec k8s.ExtraManifestsConfigSpec

	add := func(priority string, headers map[string]string, urls ...string) {
		for _, url := range urls {
			spec.ExtraManifests = append(spec.ExtraManifests,
				k8s.ExtraManifest{Name: url, URL: url, Priority: priority, ExtraHeaders: headers})
		}
	}

	add("05", nil, cfg.Cluster().Network().CNI().URLs()...)
	add("30", nil, cfg.Cluster().ExternalCloudProvider().ManifestURLs()...)
	add("99", cfg.Cluster().ExtraManifestHeaderMap(), cfg.Cluster().ExtraManifestURLs()...)

	for _, m := range cfg.Cluster().InlineManifests() {
		spec.ExtraManifests = append(spec.ExtraManifests,
			k8s.ExtraManifest{Name: m.Name(), Priority: "99", InlineManifest: m.Contents()})
	}

	return spec
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
func configFileVersion(version versions) string {
	return fmt.Sprint(
		version(k8s.NewAdmissionControlConfig().Metadata()),
		version(k8s.NewAuditPolicyConfig().Metadata()),
		version(k8s.NewAuthorizationConfig().Metadata()),
		version(k8s.NewSchedulerConfig().Metadata()),
	)
}
