package resources

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodStatus is the status of a pod as the kubelet tells it.
type PodStatus = corev1.PodStatus

// RunningPod is the status of a pod of the host's network that runs since some time.
func RunningPod(address string, since time.Time, ready bool) PodStatus {
	readiness := corev1.ConditionFalse
	if ready {
		readiness = corev1.ConditionTrue
	}

	// To the second, as it comes back from an API server.
	at := metav1.NewTime(since.Truncate(time.Second))

	status := PodStatus{
		Phase:     corev1.PodRunning,
		HostIP:    address,
		HostIPs:   []corev1.HostIP{{IP: address}},
		PodIP:     address,
		PodIPs:    []corev1.PodIP{{IP: address}},
		StartTime: &at,
	}

	for kind, value := range map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.PodInitialized:  corev1.ConditionTrue,
		corev1.PodScheduled:    corev1.ConditionTrue,
		corev1.ContainersReady: readiness,
		corev1.PodReady:        readiness,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: at})
	}

	slices.SortFunc(status.Conditions, func(a, b corev1.PodCondition) int {
		return strings.Compare(string(a.Type), string(b.Type))
	})

	return status
}

// podProblem is why a pod is not ready; empty if it is.
func podProblem(status PodStatus) string {
	switch status.Phase {
	case corev1.PodSucceeded:
		return ""
	case corev1.PodRunning:
		for _, c := range status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return ""
			}
		}

		return "not ready"
	default:
		return strings.ToLower(string(status.Phase))
	}
}

// kubeletRuns tells if somebody can know how the static pods are.
func (f *facts) kubeletRuns() bool {
	_, runs := f.services["kubelet"]

	return runs
}

// staticPodStatuses are shown on control planes only: Talos has no credentials for the kubelet of a worker.
func staticPodStatuses(f *facts) ([]owned, error) {
	if !f.controlPlane() || !f.kubeletRuns() {
		return nil, nil
	}

	var (
		out  []owned
		errs []error
	)

	for id, status := range f.podStatuses {
		plain, err := plainJSON(status)
		if err != nil {
			errs = append(errs, fmt.Errorf("status of %s: %w", id, err))

			continue
		}

		out = append(out, of("k8s.KubeletStaticPodController", k8s.NewStaticPodStatus(k8s.NamespaceName, id),
			k8s.StaticPodStatusSpec{PodStatus: plain}))
	}

	return out, errors.Join(errs...)
}

// StaticPods are the pods that the kubelet is to run, by the ID of their resource, as Kubernetes would show them without
// a node: the three of the control plane once etcd is healthy, and those of the config.
func (m *Machine) StaticPods() map[string]map[string]any {
	m.mu.Lock()
	defer m.mu.Unlock()

	pods, _ := staticPods(&m.facts, m.version) //nolint:errcheck // the setters have told it

	out := map[string]map[string]any{}
	for _, p := range pods {
		if pod, ok := p.Resource.(*k8s.StaticPod); ok {
			out[pod.Metadata().ID()] = pod.TypedSpec().Pod
		}
	}

	return out
}

// MirrorPods are the static pods as the kubelet shows them to the API server: with the name of the node behind their own.
func (m *Machine) MirrorPods() []map[string]any {
	pods := m.StaticPods()

	m.mu.Lock()
	node := m.facts.nodename()
	m.mu.Unlock()

	var out []map[string]any

	for _, id := range slices.Sorted(maps.Keys(pods)) {
		pod, metadata := maps.Clone(pods[id]), map[string]any{}
		if old, ok := pod["metadata"].(map[string]any); ok {
			metadata = maps.Clone(old)
		}

		metadata["name"] = fmt.Sprintf("%s-%s", metadata["name"], node)
		pod["metadata"] = metadata
		out = append(out, pod)
	}

	return out
}

// staticPods need the versions of the configs that they are made from.
func staticPods(f *facts, version versions) ([]owned, error) {
	if f.active == nil || f.active.Machine() == nil {
		return nil, nil
	}

	var (
		out  []owned
		errs []error
	)

	for _, pod := range f.active.K8sStaticPodConfigs() {
		plain, err := plainJSON(pod.Pod())
		if err != nil {
			errs = append(errs, fmt.Errorf("static pod: %w", err))

			continue
		}

		out = append(out, of("k8s.StaticPodConfigController", k8s.NewStaticPod(k8s.NamespaceName, pod.Name()),
			k8s.StaticPodSpec{Pod: plain}))
	}

	if !f.controlPlane() || !HasKubernetes(f.active) {
		return out, errors.Join(errs...)
	}

	const secretsVersion = "1"

	files := configFileVersion(f, version)

	out = append(out,
		of("k8s.RenderSecretsStaticPodController",
			k8s.NewSecretsStatus(k8s.ControlPlaneNamespaceName, k8s.StaticPodSecretsStaticPodID),
			k8s.SecretsStatusSpec{Ready: true, Version: secretsVersion}),
		of("k8s.RenderConfigsStaticPodController",
			k8s.NewConfigStatus(k8s.ControlPlaneNamespaceName, k8s.ConfigStatusStaticPodID),
			k8s.ConfigStatusSpec{Ready: true, Version: files}))

	// The API server uses the local etcd, so that its pod waits for it. It stays when etcd becomes unhealthy later.
	if !f.etcdWasHealthy {
		return out, errors.Join(errs...)
	}

	for _, id := range slices.Sorted(maps.Keys(controlPlanePods)) {
		pod, err := controlPlanePods[id](f, annotations{
			secrets: secretsVersion, files: files, config: version(configOf(f, id)),
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
		}

		if pod == nil {
			continue
		}

		plain, err := plainJSON(pod)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))

			continue
		}

		out = append(out, of("k8s.ControlPlaneStaticPodController", k8s.NewStaticPod(k8s.NamespaceName, id),
			k8s.StaticPodSpec{Pod: plain}))
	}

	return out, errors.Join(errs...)
}
