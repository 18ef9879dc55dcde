package machine

import (
	"errors"
	"path/filepath"
	"sort"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"firstlight.dev/lab/machine/internal/disk"
	"firstlight.dev/lab/machine/internal/pki"
	"firstlight.dev/lab/machine/internal/resources"
)

// controlPlane is what the machine's static pods are to be. The lab runs one control plane for the first live machine
// that wants one, and reads it from a file.
type controlPlane struct {
	ClusterName  string   `json:"clusterName"`
	Endpoint     string   `json:"endpoint"`
	Etcd         string   `json:"etcd"`
	PodCIDRs     []string `json:"podCidrs"`
	ServiceCIDRs []string `json:"serviceCidrs"`
	DNSDomain    string   `json:"dnsDomain"`
	CertSANs     []string `json:"certSans"`

	APIServer         component `json:"apiServer"`
	ControllerManager component `json:"controllerManager"`
	Scheduler         component `json:"scheduler"`

	AuditPolicy map[string]any `json:"auditPolicy"`
}

type component struct {
	Image            string              `json:"image"`
	Version          string              `json:"version"`
	ExtraArgs        map[string][]string `json:"extraArgs"`
	AdmissionPlugins []string            `json:"admissionPlugins,omitempty"`
}

func (m *Machine) controlPlaneFile() string { return filepath.Join(m.Home, "control-plane.json") }

// runsControlPlane says whether this machine's static pods should run: its etcd votes, and nobody stopped the kubelet.
func (m *Machine) runsControlPlane() bool {
	if !m.isControlPlane() || m.isStopped("kubelet") || m.isStopped("etcd") {
		return false
	}

	e := m.Etcd()

	return e != nil && e.State().Voter
}

// tellControlPlane writes what the control plane is to be, or takes it back.
func (m *Machine) tellControlPlane(cfg config.Config) error {
	if !m.runsControlPlane() || !resources.HasKubernetes(cfg) {
		return disk.Remove(m.controlPlaneFile())
	}

	if err := m.writePKI(cfg); err != nil {
		return err
	}

	named, network, server := cfg.K8sClusterConfig(), cfg.K8sNetworkConfig(), cfg.K8sAPIServerConfig()
	manager, scheduler := cfg.K8sControllerManagerConfig(), cfg.K8sSchedulerConfig()

	wanted := controlPlane{
		ClusterName: named.ClusterName(), Endpoint: named.ClusterEndpoint().String(), Etcd: m.Etcd().Endpoint(),
		DNSDomain: network.DNSDomain(),
		PodCIDRs:  resources.Prefixes(network.PodCIDRs()), ServiceCIDRs: resources.Prefixes(network.ServiceCIDRs()),
		CertSANs:          append([]string{m.Hardware.Address, m.nodename()}, server.CertSANs()...),
		APIServer:         as(server.Image(), server.ExtraArgs()),
		ControllerManager: as(manager.Image(), manager.ExtraArgs()),
		Scheduler:         as(scheduler.Image(), scheduler.ExtraArgs()),
	}

	if policy := cfg.K8sAuditPolicyConfig(); policy != nil {
		wanted.AuditPolicy = policy.Configuration()
	}

	for _, plugin := range cfg.K8sAdmissionControlPluginConfigs() {
		wanted.APIServer.AdmissionPlugins = append(wanted.APIServer.AdmissionPlugins, plugin.Name())
	}

	_, err := disk.WriteJSON(m.controlPlaneFile(), wanted)

	return err
}

func as(image string, extraArgs map[string][]string) component {
	return component{Image: image, Version: resources.ImageVersion(image), ExtraArgs: extraArgs}
}

// writePKI puts the authorities of the config where the lab's control plane reads them, keys first.
func (m *Machine) writePKI(cfg config.Config) error {
	folder := filepath.Join(m.Home, "pki")

	accounts, server, aggregator := cfg.K8sServiceAccountConfig(), cfg.K8sAPIServerCAConfig(), cfg.K8sAggregatorCAConfig()
	etcd := cfg.Cluster().Etcd().CA()

	if accounts == nil || server == nil || server.IssuingCA() == nil || aggregator == nil || etcd == nil {
		return errors.New("the config lacks an authority of the cluster or the key of the service accounts")
	}

	files := map[string][]byte{
		"service-accounts.key": accounts.IssuingKey().Key,
		"ca.key":               server.IssuingCA().Key,
		"etcd-ca.key":          etcd.Key,
		"front-proxy-ca.key":   aggregator.IssuingCA().Key,
		"ca.crt":               server.IssuingCA().Crt,
		"etcd-ca.crt":          etcd.Crt,
		"front-proxy-ca.crt":   aggregator.IssuingCA().Crt,
	}

	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}

	sort.Sort(sort.Reverse(sort.StringSlice(names)))

	var errs []error
	for _, name := range names {
		errs = append(errs, writeUnlessSame(filepath.Join(folder, name), files[name]))
	}

	return errors.Join(errs...)
}

// RestConfig is an administrator's way to the lab's API server, wherever the config says that it is.
func (m *Machine) RestConfig() (*rest.Config, error) {
	cfg := m.Config()
	if cfg == nil || !m.isControlPlane() {
		return nil, errors.New("only a control plane has the authority of the cluster")
	}

	text, err := pki.OwnKubeconfig(cfg, m.Book.API)
	if err != nil {
		return nil, err
	}

	return clientcmd.RESTConfigFromKubeConfig(text)
}
