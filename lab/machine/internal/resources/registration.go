package resources

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/labels"
)

// Taint of a Node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// Registration is what a Node of Talos has soon after its kubelet has registered it, besides what every kubelet sets.
type Registration struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Taints      []Taint           `json:"taints"`
}

// NodeRole is control-plane or worker.
func NodeRole(cfg config.Config) string {
	if cfg.Machine() != nil && cfg.Machine().Type().IsControlPlane() {
		return "control-plane"
	}

	return "worker"
}

// NodeLabels are those that Talos keeps on the Node: of the config, and one for each extension. The label of the role is
// added to a config that says labels by the fields of earlier versions; a document says it itself.
func NodeLabels(cfg config.Config, extensions ...Extension) map[string]string {
	out := map[string]string{}

	if node := cfg.K8sNodeConfig(); node != nil {
		maps.Copy(out, node.Labels())
	}

	for _, e := range extensions {
		if key := constants.K8sExtensionPrefix + e.Name; extensionKey(e) && labels.ValidateLabelValue(e.Version) == nil {
			out[key] = e.Version
		}
	}

	return out
}

// NodeAnnotations are those that Talos keeps on the Node: of the config, and of extensions whose version is no value for a
// label.
func NodeAnnotations(cfg config.Config, extensions ...Extension) map[string]string {
	out := map[string]string{}

	if node := cfg.K8sNodeConfig(); node != nil {
		maps.Copy(out, node.Annotations())
	}

	for _, e := range extensions {
		if key := constants.K8sExtensionPrefix + e.Name; extensionKey(e) && labels.ValidateLabelValue(e.Version) != nil {
			out[key] = e.Version
		}
	}

	return out
}

func extensionKey(e Extension) bool {
	return e.Name != "" && labels.ValidateQualifiedName(constants.K8sExtensionPrefix+e.Name) == nil
}

// NodeTaints are those that Talos keeps on the Node. As with labels, a document says that of control planes itself.
func NodeTaints(cfg config.Config) []Taint {
	node := cfg.K8sNodeConfig()
	if node == nil {
		return nil
	}

	var out []Taint

	for _, key := range slices.Sorted(maps.Keys(node.Taints())) {
		value, effect := labels.ParseTaint(node.Taints()[key])
		out = append(out, Taint{Key: key, Value: value, Effect: effect})
	}

	return out
}

// Register is how the Node looks after the kubelet has registered it with its own flags, and Talos has added what it
// keeps there. What the kubelet has set otherwise is left alone, and not owned.
func Register(cfg config.Config, extensions ...Extension) (Registration, error) {
	r := Registration{Labels: map[string]string{}, Annotations: map[string]string{}}

	kubelet := cfg.K8sKubeletConfig()
	if cfg.Machine() == nil || kubelet == nil {
		return r, nil
	}

	taints, err := kubeletTaints(kubelet)
	if err != nil {
		return r, err
	}

	r.Taints = taints
	maps.Copy(r.Labels, kubeletLabels(kubelet))

	own := func(annotation string, keys []string) {
		if len(keys) > 0 {
			slices.Sort(keys)
			text, _ := json.Marshal(keys) // strings always marshal
			r.Annotations[annotation] = string(text)
		}
	}

	ownedAnnotations := merge(r.Annotations, NodeAnnotations(cfg, extensions...))
	own(constants.AnnotationOwnedLabels, merge(r.Labels, NodeLabels(cfg, extensions...)))
	own(constants.AnnotationOwnedAnnotations, ownedAnnotations)

	var ownedTaints []string

	for _, t := range NodeTaints(cfg) {
		i := slices.IndexFunc(r.Taints, func(other Taint) bool { return other.Key == t.Key })
		if i < 0 {
			r.Taints = append(r.Taints, t)
		}

		if i < 0 || r.Taints[i] == t {
			ownedTaints = append(ownedTaints, t.Key)
		}
	}

	own(constants.AnnotationOwnedTaints, ownedTaints)

	return r, nil
}

// merge adds what is missing and returns the keys that are now as wanted.
func merge(into, wanted map[string]string) []string {
	var owned []string

	for key, value := range wanted {
		if current, there := into[key]; there && current != value {
			continue
		}

		into[key] = value
		owned = append(owned, key)
	}

	return owned
}

// kubeletLabels are of the flag --node-labels.
func kubeletLabels(kubelet kubeletSettings) map[string]string {
	out := map[string]string{}

	for pair := range strings.SplitSeq(strings.Join(kubelet.ExtraArgs()["node-labels"], ","), ",") {
		if key, value, _ := strings.Cut(strings.TrimSpace(pair), "="); key != "" {
			out[key] = value
		}
	}

	return out
}

// kubeletSettings is the part of the config's kubelet that registration needs.
type kubeletSettings interface {
	ExtraArgs() map[string][]string
	ExtraConfig() map[string]any
}

// kubeletTaints are of the flag --register-with-taints, or of registerWithTaints in the kubelet's own config.
func kubeletTaints(kubelet kubeletSettings) ([]Taint, error) {
	var out []Taint

	for text := range strings.SplitSeq(strings.Join(kubelet.ExtraArgs()["register-with-taints"], ","), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}

		pair, effect, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("kubelet: taint %q has no effect", text)
		}

		key, value, _ := strings.Cut(pair, "=")
		out = append(out, Taint{Key: key, Value: value, Effect: effect})
	}

	if list, ok := kubelet.ExtraConfig()["registerWithTaints"]; ok && out == nil {
		text, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("kubelet: registerWithTaints: %w", err)
		}

		if err := json.Unmarshal(text, &out); err != nil {
			return nil, fmt.Errorf("kubelet: registerWithTaints: %w", err)
		}
	}

	return out, nil
}
