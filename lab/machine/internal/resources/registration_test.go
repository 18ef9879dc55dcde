package resources_test

import (
	"reflect"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"

	"firstlight.dev/lab/machine/internal/resources"
)

var controlPlaneTaint = resources.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}

func TestRegister(t *testing.T) {
	const exclude = "node.kubernetes.io/exclude-from-external-load-balancers"

	for name, test := range map[string]struct {
		kind       machine.Type
		patch      string
		extensions []resources.Extension
		role       string
		want       resources.Registration
	}{
		"a generated control plane": {
			kind: machine.TypeControlPlane,
			role: "control-plane",
			want: resources.Registration{
				Labels: map[string]string{"node-role.kubernetes.io/control-plane": "", exclude: ""},
				Annotations: map[string]string{
					"talos.dev/owned-labels": `["node-role.kubernetes.io/control-plane","` + exclude + `"]`,
					"talos.dev/owned-taints": `["node-role.kubernetes.io/control-plane"]`,
				},
				Taints: []resources.Taint{controlPlaneTaint},
			},
		},
		"a control plane that takes pods": {
			kind:  machine.TypeControlPlane,
			patch: "cluster: {allowSchedulingOnControlPlanes: true}\nmachine: {nodeLabels: {" + exclude + ": {$patch: delete}}}",
			role:  "control-plane",
			want: resources.Registration{
				Labels:      map[string]string{"node-role.kubernetes.io/control-plane": ""},
				Annotations: map[string]string{"talos.dev/owned-labels": `["node-role.kubernetes.io/control-plane"]`},
			},
		},
		"a generated worker": {
			kind: machine.TypeWorker,
			role: "worker",
			want: resources.Registration{Labels: map[string]string{}, Annotations: map[string]string{}},
		},
		"labels, annotations and taints": {
			kind: machine.TypeWorker,
			patch: "machine: {nodeLabels: {zone: a}, nodeAnnotations: {note: x y}, " +
				"nodeTaints: {a: NoExecute, b: 'v:NoSchedule'}}",
			role: "worker",
			want: resources.Registration{
				Labels: map[string]string{"zone": "a"},
				Annotations: map[string]string{
					"note":                        "x y",
					"talos.dev/owned-labels":      `["zone"]`,
					"talos.dev/owned-annotations": `["note"]`,
					"talos.dev/owned-taints":      `["a","b"]`,
				},
				Taints: []resources.Taint{{Key: "a", Effect: "NoExecute"}, {Key: "b", Value: "v", Effect: "NoSchedule"}},
			},
		},
		"what the kubelet sets is not Talos's": {
			kind: machine.TypeWorker,
			patch: "machine: {nodeLabels: {zone: a, disk: ssd}, nodeTaints: {a: NoExecute}, kubelet: {extraArgs: " +
				"{node-labels: 'zone=b,rack=1', register-with-taints: 'a=v:NoSchedule'}}}",
			role: "worker",
			want: resources.Registration{
				Labels:      map[string]string{"zone": "b", "rack": "1", "disk": "ssd"},
				Annotations: map[string]string{"talos.dev/owned-labels": `["disk"]`},
				Taints:      []resources.Taint{{Key: "a", Value: "v", Effect: "NoSchedule"}},
			},
		},
		"taints of the kubelet's config": {
			kind: machine.TypeWorker,
			patch: "machine: {kubelet: {extraConfig: {registerWithTaints: " +
				"[{key: node.cilium.io/agent-not-ready, effect: NoExecute}]}}}",
			role: "worker",
			want: resources.Registration{
				Labels:      map[string]string{},
				Annotations: map[string]string{},
				Taints:      []resources.Taint{{Key: "node.cilium.io/agent-not-ready", Effect: "NoExecute"}},
			},
		},
		"extensions": {
			kind:       machine.TypeWorker,
			extensions: []resources.Extension{{Name: "iscsi-tools", Version: "v0.2.0"}, {Name: "odd", Version: "a b"}, {Name: "no way", Version: "1"}},
			role:       "worker",
			want: resources.Registration{
				Labels: map[string]string{"extensions.talos.dev/iscsi-tools": "v0.2.0"},
				Annotations: map[string]string{
					"extensions.talos.dev/odd":    "a b",
					"talos.dev/owned-labels":      `["extensions.talos.dev/iscsi-tools"]`,
					"talos.dev/owned-annotations": `["extensions.talos.dev/odd"]`,
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var patches []string
			if test.patch != "" {
				patches = append(patches, test.patch)
			}

			cfg := generated(t, test.kind, patches...)

			got, err := resources.Register(cfg, test.extensions...)
			must(t, err)

			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}

			if role := resources.NodeRole(cfg); role != test.role {
				t.Errorf("role %s, want %s", role, test.role)
			}
		})
	}
}

func TestATaintWithoutEffectIsAnError(t *testing.T) {
	cfg := generated(t, machine.TypeWorker, "machine: {kubelet: {extraArgs: {register-with-taints: a=b}}}")

	if _, err := resources.Register(cfg); err == nil {
		t.Error("no error")
	}
}

func TestImageVersion(t *testing.T) {
	for image, want := range map[string]string{
		"registry.example:5000/kubelet:v1.36.0":             "v1.36.0",
		"registry.example:5000/kubelet":                     "",
		"registry.example/kubelet:v1.36.0-slim@sha256:0123": "v1.36.0-slim",
	} {
		if got := resources.ImageVersion(image); got != want {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
}
