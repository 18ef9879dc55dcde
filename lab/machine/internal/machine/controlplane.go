package machine

import (
	"errors"
	"path/filepath"
	"sort"

	"github.com/siderolabs/talos/pkg/machinery/config/config"
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
	if !m.runsControlPlane() {
		return disk.Remove(m.controlPlaneFile())
	}

	if err := m.writePKI(cfg.Cluster()); err != nil {
		return err
	}

	cluster := cfg.Cluster()
	wanted := controlPlane{
		ClusterName: cluster.Name(), Endpoint: cluster.Endpoint().String(), Etcd: m.Etcd().Endpoint(),
		DNSDomain: cluster.Network().DNSDomain(),
		PodCIDRs:  cluster.Network().PodCIDRs(), ServiceCIDRs: cluster.Network().ServiceCIDRs(),
		CertSANs: append([]string{m.Hardware.Address, m.nodename()}, cluster.CertSANs()...),
		APIServer: component{
			Image: cluster.APIServer().Image(), Version: resources.ImageVersion(cluster.APIServer().Image()),
			ExtraArgs: cluster.APIServer().ExtraArgs(),
		},
		ControllerManager: component{
			Image: cluster.ControllerManager().Image(), Version: resources.ImageVersion(cluster.ControllerManager().Image()),
			ExtraArgs: cluster.ControllerManager().ExtraArgs(),
		},
		Scheduler: component{
			Image: cluster.Scheduler().Image(), Version: resources.ImageVersion(cluster.Scheduler().Image()),
			ExtraArgs: cluster.Scheduler().ExtraArgs(),
		},
		AuditPolicy: cluster.APIServer().AuditPolicy(),
	}

	for _, plugin := range cluster.APIServer().AdmissionControl() {
		wanted.APIServer.AdmissionPlugins = append(wanted.APIServer.AdmissionPlugins, plugin.Name())
	}

	_, err := disk.WriteJSON(m.controlPlaneFile(), wanted)

	return err
}

// writePKI puts the authorities of the config where the lab's control plane reads them, keys first.
func (m *Machine) writePKI(cluster config.ClusterConfig) error {
	folder := filepath.Join(m.Home, "pki")

	files := map[string][]byte{
		"service-accounts.key": cluster.ServiceAccount().Key,
		"ca.key":               cluster.IssuingCA().Key,
		"etcd-ca.key":          cluster.Etcd().CA().Key,
		"front-proxy-ca.key":   cluster.AggregatorCA().Key,
		"ca.crt":               cluster.IssuingCA().Crt,
		"etcd-ca.crt":          cluster.Etcd().CA().Crt,
		"front-proxy-ca.crt":   cluster.AggregatorCA().Crt,
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
