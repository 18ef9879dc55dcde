package machine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"firstlight.dev/lab/machine/internal/disk"
	"firstlight.dev/lab/machine/internal/resources"
	"firstlight.dev/lab/machine/internal/services"
)

// wish is what the machine's kubelet is to be. The lab plays the kubelets, and reads it from a file.
type wish struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Role    string `json:"role"`
	resources.Registration

	KubeletVersion string `json:"kubeletVersion"`
	OSImage        string `json:"osImage"`
	CPUs           int    `json:"cpu"`
	Memory         uint64 `json:"memory"`

	// Up is false when the kubelet was stopped in good order; a machine that is killed cannot say so.
	Up     bool   `json:"up"`
	BootID string `json:"bootId"`
	// Cluster keeps the machines of two clusters in one lab apart, as authorities and tokens do in reality.
	Cluster string `json:"cluster"`
	// Drain asks for the node to be cordoned and its pods evicted; Cordoned says that Talos's own cordon is to go.
	Drain    bool `json:"drain,omitempty"`
	Uncordon bool `json:"uncordon,omitempty"`

	StaticPods []map[string]any `json:"staticPods"`
}

// told is what the lab's kubelet says back.
type told struct {
	BootID        string            `json:"bootId"`
	Registered    bool              `json:"registered"`
	Ready         bool              `json:"ready"`
	Unschedulable bool              `json:"unschedulable"`
	Drained       bool              `json:"drained"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
	StaticPods    []podStatus       `json:"staticPods"`
}

type podStatus struct {
	Name   string              `json:"name"`
	Ready  bool                `json:"ready"`
	Status resources.PodStatus `json:"status"`
}

func (m *Machine) nodeFile() string { return filepath.Join(m.Home, "node.json") }

// kubelet is what the kubelet last said; false if it never said anything in this life.
func (m *Machine) kubelet() (told, bool) {
	var t told

	data, err := os.ReadFile(filepath.Join(m.Home, "kubelet.json"))
	if err != nil || json.Unmarshal(data, &t) != nil || t.BootID != m.BootID {
		return told{}, false
	}

	return t, true
}

// nodename is the name of the Kubernetes node; empty in maintenance mode.
func (m *Machine) nodename() string {
	cfg := m.Config()
	if cfg == nil {
		return ""
	}

	name, err := m.Resources.Nodename(cfg)
	if err != nil {
		return ""
	}

	return name
}

// tellKubelet writes what the kubelet is to be.
func (m *Machine) tellKubelet(cfg config.Provider) error {
	m.mu.Lock()
	draining := m.draining
	m.mu.Unlock()

	meta, err := m.Disk.Meta()
	if err != nil {
		return err
	}

	registration, err := resources.Register(cfg)
	if err != nil {
		return err
	}

	// Who owns what on the Node is decided when it is written, by whoever plays Talos there.
	for _, key := range []string{
		constants.AnnotationOwnedLabels, constants.AnnotationOwnedAnnotations, constants.AnnotationOwnedTaints,
	} {
		delete(registration.Annotations, key)
	}

	node, kubelet := cfg.K8sNodeConfig(), cfg.K8sKubeletConfig()
	if m.nodename() == "" || node == nil || kubelet == nil || node.SkipNodeRegistration() {
		return disk.Remove(m.nodeFile())
	}

	w := wish{
		Name: m.nodename(), Address: m.Hardware.Address, Role: resources.NodeRole(cfg), Registration: registration,
		KubeletVersion: resources.ImageVersion(kubelet.Image()), OSImage: "Talos (" + m.Version + ")",
		CPUs: m.Hardware.CPUs, Memory: m.Hardware.Memory, Up: !m.isStopped("kubelet"), BootID: m.BootID, Cluster: clusterHash(cfg),
		Drain: draining, Uncordon: meta.Cordoned && !draining, StaticPods: m.Resources.MirrorPods(),
	}

	// Whoever reads it expects lists, even empty ones.
	if w.Taints == nil {
		w.Taints = []resources.Taint{}
	}

	if w.StaticPods == nil {
		w.StaticPods = []map[string]any{}
	}

	_, err = disk.WriteJSON(m.nodeFile(), w)

	return err
}

// hearKubelet publishes what the kubelet says.
func (m *Machine) hearKubelet() error {
	t, there := m.kubelet()
	if !m.isNews("kubelet", t) {
		return nil
	}

	statuses := make(map[string]resources.PodStatus, len(t.StaticPods))
	for _, pod := range t.StaticPods {
		statuses["kube-system/"+pod.Name] = pod.Status
	}

	if meta, err := m.Disk.Meta(); err == nil && meta.Cordoned && t.Registered && !t.Unschedulable && !m.isDraining() {
		if err := m.Disk.ChangeMeta(func(meta *disk.Meta) { meta.Cordoned = false }); err != nil {
			return err
		}
	}

	var node *k8s.NodeStatusSpec
	if there && t.Registered {
		node = &k8s.NodeStatusSpec{
			Nodename: m.nodename(), NodeReady: t.Ready, Unschedulable: t.Unschedulable, Labels: t.Labels,
			Annotations: t.Annotations,
		}
	}

	return errors.Join(m.Resources.SetNodeStatus(node), m.Resources.SetStaticPods(statuses))
}

func (m *Machine) isDraining() bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.draining
}

// withdrawFromKubernetes takes back what an earlier life with a config has left.
func (m *Machine) withdrawFromKubernetes() error {
	return errors.Join(disk.Remove(m.nodeFile()), disk.Remove(m.controlPlaneFile()))
}

// ServiceAction starts, stops or restarts what Talos lets one start, stop or restart.
func (m *Machine) ServiceAction(id, action string) error {
	switch {
	case !m.Services.Has(id):
		return errors.New("service \"" + id + "\" not defined")
	case id != "kubelet" || action == "stop":
		return errors.New("service \"" + id + "\" doesn't support " + action + " operation via API")
	}

	m.stop(id, false)
	m.Services.Set(id, services.Running, "Started task %s (%s)", id, action)

	return m.tell()
}

// restartKubelet is what a config does that changes how the kubelet runs: it stops, and starts anew.
func (m *Machine) restartKubelet() {
	if m.Services.State("kubelet") != services.Running {
		return
	}

	m.Services.Set("kubelet", services.Stopping, "Sending SIGTERM to task kubelet")
	m.Services.Set("kubelet", services.Finished, "Service finished successfully")

	time.AfterFunc(tick, func() {
		if !m.isStopped("kubelet") {
			m.Services.Set("kubelet", services.Running, "Started task kubelet")
			m.Services.SetHealth("kubelet", true, "")
		}
	})
}

// kubeletDiffers says whether the kubelet has to be restarted for a config.
func kubeletDiffers(now, then config.Provider) bool {
	return !reflect.DeepEqual(resources.KubeletSettings(now), resources.KubeletSettings(then))
}

func (m *Machine) isControlPlane() bool {
	cfg := m.Config()

	return cfg != nil && cfg.Machine().Type() != machine.TypeWorker
}
