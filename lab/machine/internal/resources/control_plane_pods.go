package resources

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/siderolabs/talos/pkg/argsbuilder"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/version"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// annotations are the versions of what a pod was made from. The kubelet restarts it when they change.
type annotations struct{ secrets, files, config string }

// controlPlanePods make the pods of the control plane; a pod is nil if the config disables it.
var controlPlanePods = map[string]func(*facts, annotations) (*corev1.Pod, error){
	k8s.APIServerID:         apiServerPod,
	k8s.ControllerManagerID: controllerManagerPod,
	k8s.SchedulerID:         schedulerPod,
}

// configOf is the resource that says how a component is to be run.
func configOf(f *facts, id string) resource.Pointer {
	name := id
	if f.behaviour().FinalConfigs {
		name = k8s.FinalPrefix + id
	}

	switch id {
	case k8s.APIServerID:
		return k8s.NewAPIServerConfig(name).Metadata()
	case k8s.ControllerManagerID:
		return k8s.NewControllerManagerConfig(name).Metadata()
	default:
		return k8s.NewSchedulerConfig(name).Metadata()
	}
}

// component is what the pods of the control plane differ in.
type component struct {
	id          string
	image       string
	command     []string
	annotations annotations
	resources   k8s.Resources
	cpu, memory string
	environment map[string]string
	volumes     []k8s.ExtraVolume // Talos's own first
	user        int64
	probes      func(*corev1.Container)
}

// filesIn makes paths of files that Talos renders into a directory.
func filesIn(directory string) func(string) []string {
	return func(file string) []string { return []string{path.Join(directory, file)} }
}

// apiServerCommand is the program with its flags.
func apiServerCommand(f *facts) ([]string, error) {
	spec, accounts := apiServerConfig(f.active), f.active.K8sServiceAccountConfig()
	if accounts == nil {
		return nil, errors.New("missing key of the service accounts")
	}

	v := kubernetesVersion(spec.Image)
	secret := filesIn(constants.KubernetesAPIServerSecretsDir)
	file := filesIn(constants.KubernetesAPIServerConfigDir)

	args := argsbuilder.Args{
		"admission-control-config-file":      file("admission-control-config.yaml"),
		"allow-privileged":                   {"true"},
		"api-audiences":                      accounts.APIAudiences(),
		"audit-log-maxage":                   {"30"},
		"audit-log-maxbackup":                {"10"},
		"audit-log-maxsize":                  {"100"},
		"audit-log-path":                     {path.Join(constants.KubernetesAuditLogDir, "kube-apiserver.log")},
		"audit-policy-file":                  file("auditpolicy.yaml"),
		"bind-address":                       {"0.0.0.0"},
		"client-ca-file":                     secret("ca.crt"),
		"enable-admission-plugins":           {"NodeRestriction"},
		"enable-bootstrap-token-auth":        {"true"},
		"encryption-provider-config":         secret("encryptionconfig.yaml"),
		"etcd-cafile":                        secret("etcd-client-ca.crt"),
		"etcd-certfile":                      secret("etcd-client.crt"),
		"etcd-keyfile":                       secret("etcd-client.key"),
		"etcd-servers":                       {strings.Join(spec.EtcdServers, ",")},
		"kubelet-client-certificate":         secret("apiserver-kubelet-client.crt"),
		"kubelet-client-key":                 secret("apiserver-kubelet-client.key"),
		"kubelet-preferred-address-types":    {"InternalIP,ExternalIP,Hostname"},
		"profiling":                          {"false"},
		"proxy-client-cert-file":             secret("front-proxy-client.crt"),
		"proxy-client-key-file":              secret("front-proxy-client.key"),
		"requestheader-allowed-names":        {"front-proxy-client"},
		"requestheader-client-ca-file":       secret("aggregator-ca.crt"),
		"requestheader-extra-headers-prefix": {"X-Remote-Extra-"},
		"requestheader-group-headers":        {"X-Remote-Group"},
		"requestheader-username-headers":     {"X-Remote-User"},
		"secure-port":                        {strconv.Itoa(spec.LocalPort)},
		"service-account-issuer":             append([]string{accounts.IssuerURL()}, accounts.AcceptedIssuers()...),
		"service-account-key-file":           secret("service-account.pub"),
		"service-account-signing-key-file":   secret("service-account.key"),
		"service-cluster-ip-range":           {strings.Join(spec.ServiceCIDRs, ",")},
		"tls-cert-file":                      secret("apiserver.crt"),
		"tls-private-key-file":               secret("apiserver.key"),
	}

	if f.behaviour().OnlyTLS13 {
		args["tls-min-version"] = []string{"VersionTLS13"}
	} else {
		args["tls-min-version"] = []string{"VersionTLS12"}
		args["tls-cipher-suites"] = []string{strings.Join(apiServerCiphers, ",")}
	}

	if spec.UseAuthenticationConfig {
		args["authentication-config"] = file("authentication-config.yaml")
	} else {
		args["anonymous-auth"] = []string{"false"}
	}

	if spec.AdvertisedAddress != "" {
		args["advertise-address"] = []string{spec.AdvertisedAddress}
	}

	if spec.CloudProvider != "" && !v.CloudProviderFlagRemoved() {
		args["cloud-provider"] = []string{spec.CloudProvider}
	}

	extra := argsbuilder.Args(f.active.K8sAPIServerConfig().ExtraArgs())

	// Authorizers are in a file, unless the config says flags.
	flags := slices.ContainsFunc(slices.Collect(maps.Keys(extra)), func(flag string) bool {
		return flag == "authorization-mode" || strings.HasPrefix(flag, "authorization-webhook-")
	})

	if flags {
		args["authorization-mode"] = []string{"Node,RBAC"}
	} else {
		args["authorization-config"] = file("authorization-config.yaml")
	}

	policies := denied("etcd-servers", "client-ca-file", "requestheader-client-ca-file", "proxy-client-cert-file",
		"proxy-client-key-file", "encryption-provider-config", "etcd-cafile", "etcd-certfile", "etcd-keyfile",
		"kubelet-client-certificate", "kubelet-client-key", "service-account-key-file", "service-account-signing-key-file",
		"tls-cert-file", "tls-private-key-file", "authorization-config")
	for _, flag := range []string{"enable-admission-plugins", "feature-gates", "authorization-mode", "tls-cipher-suites"} {
		policies[flag] = argsbuilder.MergeAdditive
	}

	if f.behaviour().OnlyTLS13 {
		policies["tls-min-version"] = argsbuilder.MergeDenied
	}

	if spec.UseAuthenticationConfig {
		policies["authentication-config"] = argsbuilder.MergeDenied
	}

	if err := args.Merge(extra, argsbuilder.WithMergePolicies(policies)); err != nil {
		return nil, err
	}

	return append([]string{"/usr/local/bin/kube-apiserver"}, args.Args()...), nil
}

func apiServerPod(f *facts, from annotations) (*corev1.Pod, error) {
	spec := apiServerConfig(f.active)

	command, err := apiServerCommand(f)
	if err != nil {
		return nil, err
	}

	return component{
		id:          k8s.APIServerID,
		image:       spec.Image,
		command:     command,
		annotations: from,
		resources:   spec.Resources,
		cpu:         "200m",
		memory:      "512Mi",
		environment: spec.EnvironmentVariables,
		user:        constants.KubernetesAPIServerRunUser,
		volumes: append([]k8s.ExtraVolume{
			ownVolume("secrets", constants.KubernetesAPIServerSecretsDir, true),
			ownVolume("config", constants.KubernetesAPIServerConfigDir, true),
			ownVolume("audit", constants.KubernetesAuditLogDir, false),
		}, spec.ExtraVolumes...),
		probes: func(c *corev1.Container) {
			// The binary has this capability set and does not start without it.
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}

			if spec.StartupProbesEnabled {
				c.StartupProbe = localProbe("/livez", spec.LocalPort)
				c.StartupProbe.InitialDelaySeconds, c.StartupProbe.FailureThreshold = 10, 24
				c.LivenessProbe = localProbe("/livez", spec.LocalPort)
				c.LivenessProbe.InitialDelaySeconds, c.LivenessProbe.FailureThreshold = 10, 8
				c.ReadinessProbe = localProbe("/readyz", spec.LocalPort)
				c.ReadinessProbe.PeriodSeconds, c.ReadinessProbe.FailureThreshold = 1, 3
			}
		},
	}.pod()
}

// apiServerCiphers are those that Talos allows where it allows TLS 1.2.
var apiServerCiphers = []string{
	"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
}

// controllerManagerCommand is the program with its flags.
func controllerManagerCommand(f *facts) ([]string, error) {
	spec := controllerManagerConfig(f.active)

	// The one flag without a value. Talos 1.14 gives it a second time, with one.
	const credentials = "--use-service-account-credentials"

	secret := filesIn(constants.KubernetesControllerManagerSecretsDir)

	args := argsbuilder.Args{
		"allocate-node-cidrs":              {"true"},
		"authentication-kubeconfig":        secret("kubeconfig"),
		"authorization-kubeconfig":         secret("kubeconfig"),
		"bind-address":                     {"127.0.0.1"},
		"cluster-cidr":                     {strings.Join(spec.PodCIDRs, ",")},
		"cluster-signing-cert-file":        secret("ca.crt"),
		"cluster-signing-key-file":         secret("ca.key"),
		"configure-cloud-routes":           {"false"},
		"kubeconfig":                       secret("kubeconfig"),
		"leader-elect":                     {"true"},
		"profiling":                        {"false"},
		"root-ca-file":                     secret("ca.crt"),
		"service-account-private-key-file": secret("service-account.key"),
		"service-cluster-ip-range":         {strings.Join(spec.ServiceCIDRs, ",")},
		"tls-min-version":                  {"VersionTLS13"},
	}

	if f.behaviour().FinalConfigs {
		args["controllers"] = []string{"*"}
		args["terminated-pod-gc-threshold"] = []string{"100"}
		args["use-service-account-credentials"] = []string{"true"}
		nodeMasks(args, spec)
	} else {
		args["controllers"] = []string{"*,tokencleaner"}
	}

	if spec.CloudProvider != "" && !kubernetesVersion(spec.Image).CloudProviderFlagRemoved() {
		args["cloud-provider"] = []string{spec.CloudProvider}
	}

	policies := denied("cluster-signing-cert-file", "cluster-signing-key-file", "authentication-kubeconfig",
		"authorization-kubeconfig", "root-ca-file", "service-account-private-key-file")
	policies["service-cluster-ip-range"] = argsbuilder.MergeAdditive
	policies["controllers"] = argsbuilder.MergeAdditive

	extra := f.active.K8sControllerManagerConfig().ExtraArgs()
	if err := args.Merge(extra, argsbuilder.WithMergePolicies(policies)); err != nil {
		return nil, err
	}

	return append([]string{"/usr/local/bin/kube-controller-manager", credentials}, args.Args()...), nil
}

// nodeMasks are the sizes of the nodes' networks. The controller manager refuses one of a family that no pod has.
func nodeMasks(args argsbuilder.Args, spec k8s.ControllerManagerConfigSpec) {
	for _, network := range spec.PodCIDRs {
		if strings.Contains(network, ":") {
			args["node-cidr-mask-size-ipv6"] = []string{strconv.Itoa(spec.NodeCIDRMaskSizeIPv6)}
		} else {
			args["node-cidr-mask-size-ipv4"] = []string{strconv.Itoa(spec.NodeCIDRMaskSizeIPv4)}
		}
	}
}

func controllerManagerPod(f *facts, from annotations) (*corev1.Pod, error) {
	spec := controllerManagerConfig(f.active)
	if !spec.Enabled {
		return nil, nil
	}

	command, err := controllerManagerCommand(f)
	if err != nil {
		return nil, err
	}

	return component{
		id:          k8s.ControllerManagerID,
		image:       spec.Image,
		command:     command,
		annotations: annotations{secrets: from.secrets, config: from.config},
		resources:   spec.Resources,
		cpu:         "50m",
		memory:      "256Mi",
		environment: spec.EnvironmentVariables,
		user:        constants.KubernetesControllerManagerRunUser,
		volumes: append([]k8s.ExtraVolume{
			ownVolume("secrets", constants.KubernetesControllerManagerSecretsDir, true),
		}, spec.ExtraVolumes...),
		probes: func(c *corev1.Container) {
			c.StartupProbe = localProbe("/healthz", 10257)
			c.StartupProbe.PeriodSeconds, c.StartupProbe.FailureThreshold = 5, 12
			c.LivenessProbe = localProbe("/healthz", 10257)
			c.LivenessProbe.TimeoutSeconds = 15
		},
	}.pod()
}

// schedulerCommand is the program with its flags.
func schedulerCommand(f *facts) ([]string, error) {
	secret := filesIn(constants.KubernetesSchedulerSecretsDir)

	args := argsbuilder.Args{
		"authentication-kubeconfig":              secret("kubeconfig"),
		"authentication-tolerate-lookup-failure": {"false"},
		"authorization-kubeconfig":               secret("kubeconfig"),
		"bind-address":                           {"127.0.0.1"},
		"config":                                 {path.Join(constants.KubernetesSchedulerConfigDir, "scheduler-config.yaml")},
		"leader-elect":                           {"true"},
		"profiling":                              {"false"},
		"tls-min-version":                        {"VersionTLS13"},
	}

	policies := denied("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "config")
	if err := args.Merge(f.active.K8sSchedulerConfig().ExtraArgs(), argsbuilder.WithMergePolicies(policies)); err != nil {
		return nil, err
	}

	return append([]string{"/usr/local/bin/kube-scheduler"}, args.Args()...), nil
}

func schedulerPod(f *facts, from annotations) (*corev1.Pod, error) {
	spec := schedulerConfig(f.active)
	if !spec.Enabled {
		return nil, nil
	}

	command, err := schedulerCommand(f)
	if err != nil {
		return nil, err
	}

	v := kubernetesVersion(spec.Image)

	return component{
		id:          k8s.SchedulerID,
		image:       spec.Image,
		command:     command,
		annotations: annotations{secrets: from.secrets, config: from.config},
		resources:   spec.Resources,
		cpu:         "10m",
		memory:      "64Mi",
		environment: spec.EnvironmentVariables,
		user:        constants.KubernetesSchedulerRunUser,
		volumes: append([]k8s.ExtraVolume{
			ownVolume("secrets", constants.KubernetesSchedulerSecretsDir, true),
			ownVolume("config", constants.KubernetesSchedulerConfigDir, true),
		}, spec.ExtraVolumes...),
		probes: func(c *corev1.Container) {
			c.StartupProbe = localProbe(v.KubeSchedulerHealthStartupEndpoint(), 10259)
			c.LivenessProbe = localProbe(v.KubeSchedulerHealthLivenessEndpoint(), 10259)
			c.ReadinessProbe = localProbe(v.KubeSchedulerHealthReadinessEndpoint(), 10259)
		},
	}.pod()
}

// ownVolume is a directory of Talos that is at the same place inside and outside.
func ownVolume(name, directory string, readOnly bool) k8s.ExtraVolume {
	return k8s.ExtraVolume{Name: name, HostPath: directory, MountPath: directory, ReadOnly: readOnly}
}

func localProbe(endpoint string, port int) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: endpoint, Host: "localhost", Port: intstr.FromInt(port), Scheme: corev1.URISchemeHTTPS,
	}}}
}

func (c component) pod() (*corev1.Pod, error) {
	requirements, err := c.requirements()
	if err != nil {
		return nil, err
	}

	container := corev1.Container{
		Name:      c.id,
		Image:     c.image,
		Command:   c.command,
		Env:       c.env(requirements),
		Resources: requirements,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(bool),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}

	var volumes []corev1.Volume

	for _, v := range c.volumes {
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: v.Name, MountPath: v.MountPath, ReadOnly: v.ReadOnly})
		volumes = append(volumes, corev1.Volume{
			Name:         v.Name,
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: v.HostPath}},
		})
	}

	c.probes(&container)

	notes := map[string]string{
		constants.AnnotationStaticPodSecretsVersion: c.annotations.secrets,
		constants.AnnotationStaticPodConfigVersion:  c.annotations.config,
	}
	if c.annotations.files != "" {
		notes[constants.AnnotationStaticPodConfigFileVersion] = c.annotations.files
	}

	nonRoot, priority := true, int32(2_000_000_000)

	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        c.id,
			Namespace:   metav1.NamespaceSystem,
			Annotations: notes,
			Labels: map[string]string{
				"tier":                         "control-plane",
				"k8s-app":                      c.id,
				"component":                    c.id,
				"app.kubernetes.io/name":       c.id,
				"app.kubernetes.io/version":    kubernetesVersion(c.image).String(),
				"app.kubernetes.io/component":  "control-plane",
				"app.kubernetes.io/managed-by": version.Name,
			},
		},
		Spec: corev1.PodSpec{
			Priority:          &priority,
			PriorityClassName: "system-cluster-critical",
			Containers:        []corev1.Container{container},
			HostNetwork:       true,
			SecurityContext:   &corev1.PodSecurityContext{RunAsNonRoot: &nonRoot, RunAsUser: &c.user, RunAsGroup: &c.user},
			Volumes:           volumes,
		},
	}, nil
}

// requirements are the config's, and Talos's requests where it has none.
func (c component) requirements() (corev1.ResourceRequirements, error) {
	out := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}

	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := c.resources.Requests[string(name)], c.resources.Limits[string(name)]
		if request == "" {
			request = map[corev1.ResourceName]string{corev1.ResourceCPU: c.cpu, corev1.ResourceMemory: c.memory}[name]
		}

		for list, text := range map[*corev1.ResourceList]string{&out.Requests: request, &out.Limits: limit} {
			if text == "" {
				continue
			}

			quantity, err := apiresource.ParseQuantity(text)
			if err != nil {
				return out, fmt.Errorf("error parsing %s of %s: %w", name, c.id, err)
			}

			(*list)[name] = quantity
		}
	}

	return out, nil
}

// env has the pod's address, the config's variables, and a limit for Go's memory just below that of the container.
func (c component) env(requirements corev1.ResourceRequirements) []corev1.EnvVar {
	out := []corev1.EnvVar{{
		Name:      "POD_IP",
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}},
	}}

	for _, name := range slices.Sorted(maps.Keys(c.environment)) {
		// A dollar would refer to another variable.
		out = append(out, corev1.EnvVar{Name: name, Value: strings.ReplaceAll(c.environment[name], "$", "$$")})
	}

	if limit := requirements.Limits.Memory().Value(); limit > 0 {
		out = append(out, corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(limit*95/100, 10)})
	}

	return out
}
