package resources_test

import (
	"bytes"
	"context"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/protobuf"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	resconfig "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/etcd"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"

	"firstlight.dev/lab/machine/internal/resources"
)

// settle sets every fact that there is: a control plane that runs.
func settle(t *testing.T, m *resources.Machine, cfg config.Provider) {
	t.Helper()

	must(t, m.SetHardware(hardware()))
	must(t, m.SetVersion("v1.13.0"))
	must(t, m.SetExtensions(resources.Extension{Name: "schematic", Version: "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"}))
	must(t, m.SetInstalled("/dev/nvme0n1"))
	must(t, m.SetMeta(map[uint8]string{0x0a: "x"}))
	must(t, m.SetTimeSynced(true))
	must(t, m.SetConfig(cfg))
	must(t, m.SetMembers([]resources.Member{
		{
			NodeID: "other", Hostname: "cp-2", Nodename: "cp-2", Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.3")},
			MachineType: machine.TypeControlPlane, OperatingSystem: "Talos (v1.13.0)", APIServerPort: 6443,
		},
		{
			NodeID: "worker", Hostname: "worker-1", Nodename: "worker-1", Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.4")},
			MachineType: machine.TypeWorker, OperatingSystem: "Talos (v1.13.0)",
		},
	}))

	for _, service := range []string{"machined", "apid", "trustd", "etcd", "kubelet"} {
		must(t, m.SetService(service, true, true, false))
	}

	must(t, m.SetEtcdMember(0xa1b2c3))

	since := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	must(t, m.SetStaticPods(map[string]resources.PodStatus{
		"kube-system/kube-apiserver-cp-1":          resources.RunningPod("10.5.0.2", since, true),
		"kube-system/kube-controller-manager-cp-1": resources.RunningPod("10.5.0.2", since, true),
		"kube-system/kube-scheduler-cp-1":          resources.RunningPod("10.5.0.2", since, true),
	}))
	must(t, m.SetNodeStatus(&k8s.NodeStatusSpec{Nodename: "cp-1", NodeReady: true, PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/24")}}))
	must(t, m.SetDiagnostic("kubelet-csr", "kubelet server certificate rotation is enabled, but CSR is not approved", "pending CSRs: a"))
	must(t, m.SetStage(runtime.MachineStageRunning, true))
}

func TestSettingTheSameAgainChangesNothing(t *testing.T) {
	m := newMachine(t)
	cfg := generated(t, machine.TypeControlPlane, named)
	settle(t, m, cfg)

	before := everything(t, m.State())

	// The same text as another object.
	settle(t, m, patched(t, cfg))

	after := everything(t, m.State())

	for name, r := range after {
		old, ok := before[name]
		if !ok {
			t.Errorf("%s is new", name)

			continue
		}

		if old.Metadata().Version().String() != r.Metadata().Version().String() || !old.Metadata().Created().Equal(r.Metadata().Created()) {
			t.Errorf("%s went from %s to %s", name, old.Metadata().Version(), r.Metadata().Version())
		}
	}

	if len(before) != len(after) {
		t.Errorf("%d resources, then %d", len(before), len(after))
	}
}

// What cannot be encoded breaks only when somebody asks for it.
func TestEverythingGoesOverTheWire(t *testing.T) {
	m := newMachine(t)
	settle(t, m, generated(t, machine.TypeControlPlane, named,
		"machine: {sysctls: {net.core.somaxconn: '1024'}, pods: [{apiVersion: v1, kind: Pod, metadata: {name: extra}, spec: {containers: [{name: c, image: i}]}}], "+
			"kubelet: {extraConfig: {maxPods: 200}, extraMounts: [{destination: /a, source: /a, type: bind}]}}",
		"cluster: {apiServer: {extraArgs: {feature-gates: X=true}, auditPolicy: {rules: [{level: None}]}, resources: {limits: {memory: 1Gi}}}, "+
			"inlineManifests: [{name: a, contents: 'kind: A'}]}"))

	all := everything(t, m.State())
	if len(all) < 100 {
		t.Fatalf("only %d resources", len(all))
	}

	for name, r := range all {
		encoded, err := protobuf.FromResource(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}

		wire, err := encoded.Marshal()
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}

		decoded, err := protobuf.Unmarshal(wire)
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}

		back, err := protobuf.UnmarshalResource(decoded)
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}

		if _, isConfig := r.(*resconfig.MachineConfig); isConfig {
			continue
		}

		again, err := protobuf.FromResource(back)
		must(t, err)

		if !reflect.DeepEqual(again.Metadata().Version(), r.Metadata().Version()) {
			t.Errorf("%s came back as another version", name)
		}
	}
}

func TestAFreshMachineKnowsItsHardwareOnly(t *testing.T) {
	m := newMachine(t)
	st := m.State()

	if got := get[*runtime.MachineStatus](t, st, runtime.MachineStatusID).TypedSpec().Stage; got != runtime.MachineStageBooting {
		t.Errorf("stage %s", got)
	}

	status := get[*network.Status](t, st, network.StatusID).TypedSpec()
	if *status != (network.StatusSpec{AddressReady: true, ConnectivityReady: true, EtcFilesReady: true}) {
		t.Errorf("network %+v: a machine without a config has no hostname", status)
	}

	if got := get[*resconfig.MachineType](t, st, resconfig.MachineTypeID).MachineType(); got != machine.TypeUnknown {
		t.Errorf("type %s", got)
	}

	for name, shown := range map[string]bool{
		"a node name":     there[*k8s.Nodename](t, st, k8s.NodenameID),
		"an identity":     there[*cluster.Identity](t, st, cluster.LocalIdentity),
		"a system disk":   there[*block.SystemDisk](t, st, block.SystemDiskID),
		"a config":        there[*resconfig.MachineConfig](t, st, resconfig.ActiveID),
		"EPHEMERAL":       there[*block.VolumeStatus](t, st, constants.EphemeralPartitionLabel),
		"an announcement": func() bool { _, ok := m.Announcement(); return ok }(),
	} {
		if shown {
			t.Errorf("it has %s", name)
		}
	}
}

func TestAConfigComesAndGoes(t *testing.T) {
	m := newMachine(t)
	must(t, m.SetInstalled("/dev/nvme0n1"))

	fresh := everything(t, m.State())

	// Not ours: must survive.
	foreign := k8s.NewManifest(k8s.ControlPlaneNamespaceName, "00-kube-proxy")
	must(t, m.State().Create(context.Background(), foreign))

	must(t, m.SetConfig(generated(t, machine.TypeControlPlane, named)))
	must(t, m.SetMembers([]resources.Member{{NodeID: "o", Nodename: "o", MachineType: machine.TypeWorker}}))

	st := m.State()

	for name, shown := range map[string]bool{
		"the config":            there[*resconfig.MachineConfig](t, st, resconfig.ActiveID),
		"the persistent config": there[*resconfig.MachineConfig](t, st, resconfig.PersistentID),
		"itself":                there[*cluster.Member](t, st, "cp-1"),
		"the other":             there[*cluster.Member](t, st, "o"),
		"the authority":         there[*secrets.OSRoot](t, st, secrets.OSRootID),
		"the API server":        there[*k8s.APIServerConfig](t, st, k8s.APIServerConfigID),
		"the kubelet":           there[*k8s.KubeletSpec](t, st, k8s.KubeletID),
		"etcd":                  there[*etcd.Spec](t, st, etcd.SpecID),
		"the taint":             there[*k8s.NodeTaintSpec](t, st, "node-role.kubernetes.io/control-plane"),
	} {
		if !shown {
			t.Errorf("it lacks %s", name)
		}
	}

	must(t, m.ClearConfig())

	after := everything(t, m.State())
	delete(after, "controlplane/"+resource.String(foreign))

	for name := range after {
		if _, ok := fresh[name]; !ok {
			t.Errorf("%s stays", name)
		}
	}

	for name := range fresh {
		if _, ok := after[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}

	if !there[*k8s.Manifest](t, m.State(), "00-kube-proxy") {
		t.Error("a resource of somebody else is gone")
	}
}

func TestStagedAndTriedConfigs(t *testing.T) {
	m := newMachine(t)
	one := generated(t, machine.TypeWorker, named)
	two := patched(t, one, "machine: {nodeLabels: {a: b}}")

	text := func(id string) []byte {
		out, err := get[*resconfig.MachineConfig](t, m.State(), id).Provider().Bytes()
		must(t, err)

		return out
	}
	oneText, err := one.Bytes()
	must(t, err)
	twoText, err := two.Bytes()
	must(t, err)

	must(t, m.SetConfig(one))
	must(t, m.SetPersistentConfig(two))

	if !bytes.Equal(text(resconfig.ActiveID), oneText) || !bytes.Equal(text(resconfig.PersistentID), twoText) {
		t.Error("a staged config must be kept and not applied")
	}

	if there[*k8s.NodeLabelSpec](t, m.State(), "a") {
		t.Error("a staged config has an effect")
	}

	must(t, m.SetConfig(one))
	must(t, m.SetActiveConfig(two))

	if !bytes.Equal(text(resconfig.ActiveID), twoText) || !bytes.Equal(text(resconfig.PersistentID), oneText) {
		t.Error("a tried config must be applied and not kept")
	}

	if !there[*k8s.NodeLabelSpec](t, m.State(), "a") {
		t.Error("a tried config has no effect")
	}
}

// upgrade-k8s waits for the resource to go away and come back.
func TestARestartOfAServiceIsSeen(t *testing.T) {
	m := newMachine(t)
	must(t, m.SetService("kubelet", true, true, false))

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	events := make(chan state.Event)
	must(t, m.State().Watch(ctx, v1alpha1.NewService("kubelet").Metadata(), events))

	steps := []func() error{
		func() error { return nil },
		func() error { return m.SetService("kubelet", true, true, false) },
		func() error { return m.SetService("kubelet", false, false, false) },
		func() error { return m.SetService("kubelet", true, false, true) },
		func() error { return m.SetService("kubelet", true, true, false) },
	}

	go func() {
		for _, step := range steps {
			if err := step(); err != nil {
				t.Error(err)
			}
		}
	}()

	for _, want := range []state.EventType{state.Created, state.Destroyed, state.Created, state.Updated} {
		select {
		case event := <-events:
			if event.Type != want {
				t.Fatalf("got %s, want %s", event.Type, want)
			}
		case <-ctx.Done():
			t.Fatalf("no %s", want)
		}
	}
}

func TestMembers(t *testing.T) {
	m := newMachine(t)
	settle(t, m, generated(t, machine.TypeControlPlane, named))

	self := get[*cluster.Member](t, m.State(), "cp-1").TypedSpec()
	want := cluster.MemberSpec{
		NodeID:          m.Identity(),
		Addresses:       []netip.Addr{netip.MustParseAddr("10.5.0.2")},
		Hostname:        "cp-1.lab.example",
		MachineType:     machine.TypeControlPlane,
		OperatingSystem: "Talos (v1.13.0)",
		ControlPlane:    &cluster.ControlPlane{APIServerPort: 6443},
	}

	if !reflect.DeepEqual(*self, want) {
		t.Errorf("got  %+v\nwant %+v", *self, want)
	}

	endpoints := get[*k8s.Endpoint](t, m.State(), k8s.ControlPlaneDiscoveredEndpointsID).TypedSpec().Addresses
	if !slices.Equal(endpoints, []netip.Addr{netip.MustParseAddr("10.5.0.2"), netip.MustParseAddr("10.5.0.3")}) {
		t.Errorf("endpoints %v", endpoints)
	}

	// What others say about this machine does not count.
	must(t, m.SetMembers([]resources.Member{{NodeID: m.Identity(), Nodename: "liar"}}))

	if there[*cluster.Member](t, m.State(), "liar") || there[*cluster.Member](t, m.State(), "cp-2") {
		t.Error("members are wrong")
	}

	announced, ok := m.Announcement()
	if !ok || announced.Nodename != "cp-1" || announced.APIServerPort != 6443 {
		t.Errorf("announced %+v", announced)
	}

	must(t, m.SetConfig(generated(t, machine.TypeControlPlane, named, "cluster: {discovery: {enabled: false}}")))

	if there[*cluster.Member](t, m.State(), "cp-1") {
		t.Error("there are members without discovery")
	}
}

func TestStaticPodsFollowEtcdAndConfig(t *testing.T) {
	m := newMachine(t)
	cfg := generated(t, machine.TypeControlPlane, named)
	must(t, m.SetConfig(cfg))

	pods := func() []string {
		var ids []string
		for id := range m.StaticPods() {
			ids = append(ids, id)
		}

		slices.Sort(ids)

		return ids
	}
	all := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

	must(t, m.SetService("etcd", true, false, true))

	if got := pods(); got != nil {
		t.Errorf("%v before etcd is healthy", got)
	}

	must(t, m.SetService("etcd", true, true, false))
	must(t, m.SetService("etcd", true, false, false))

	if got := pods(); !slices.Equal(got, all) {
		t.Errorf("got %v: a sick etcd does not remove pods", got)
	}

	if first := m.MirrorPods()[0]["metadata"].(map[string]any)["name"]; first != "kube-apiserver-cp-1" {
		t.Errorf("mirror pod %s", first)
	}

	version := func() (config, pod string) {
		note := m.StaticPods()["kube-apiserver"]["metadata"].(map[string]any)["annotations"].(map[string]any)
		r := get[*k8s.StaticPod](t, m.State(), "kube-apiserver").TypedSpec().Pod["metadata"].(map[string]any)["annotations"].(map[string]any)

		if !reflect.DeepEqual(note, r) {
			t.Errorf("pod %v, resource %v", note, r)
		}

		return get[*k8s.APIServerConfig](t, m.State(), k8s.APIServerConfigID).Metadata().Version().String(),
			note[constants.AnnotationStaticPodConfigVersion].(string)
	}

	if config, pod := version(); config != "1" || pod != "1" {
		t.Errorf("config %s, pod %s", config, pod)
	}

	must(t, m.SetConfig(patched(t, cfg, "cluster: {apiServer: {extraArgs: {v: '2'}}, scheduler: {extraArgs: {v: '2'}}}", "machine: {controlPlane: {scheduler: {disabled: true}}}")))

	if config, pod := version(); config != "2" || pod != "2" {
		t.Errorf("config %s, pod %s: upgrade-k8s would wait for ever", config, pod)
	}

	if got := pods(); !slices.Equal(got, all[:2]) {
		t.Errorf("got %v with the scheduler disabled", got)
	}

	must(t, m.SetService("etcd", false, false, false))

	if got := pods(); got != nil {
		t.Errorf("%v without etcd", got)
	}
}

func TestUnmet(t *testing.T) {
	m := newMachine(t)
	must(t, m.SetConfig(generated(t, machine.TypeControlPlane, named)))
	must(t, m.SetTimeSynced(false))
	must(t, m.SetService("apid", true, true, false))
	must(t, m.SetService("machined", true, false, true))
	must(t, m.SetService("kubelet", true, false, false))
	must(t, m.SetStaticPods(map[string]resources.PodStatus{
		"kube-system/kube-apiserver-cp-1": resources.RunningPod("10.5.0.2", time.Now(), false),
		"kube-system/kube-scheduler-cp-1": {Phase: "Pending"},
	}))

	want := []runtime.UnmetCondition{
		{Name: "time", Reason: "time is not synced"},
		{Name: "services", Reason: "kubelet not healthy, etcd not running, trustd not running"},
		{Name: "staticPods", Reason: "kube-system/kube-apiserver-cp-1 not ready, kube-system/kube-scheduler-cp-1 pending"},
		{Name: "nodeReady", Reason: `node "cp-1" status is not available yet`},
	}

	if got := m.Unmet(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	settle(t, m, generated(t, machine.TypeControlPlane, named))

	if got := m.Unmet(); got != nil {
		t.Errorf("a machine that runs waits for %+v", got)
	}
}

func TestAddressesFollowTheLinks(t *testing.T) {
	m := newMachine(t)
	must(t, m.SetConfig(generated(t, machine.TypeWorker, named)))

	routed := func() []netip.Prefix {
		return get[*network.NodeAddress](t, m.State(), network.NodeAddressRoutedID).TypedSpec().Addresses
	}

	if got := routed(); !slices.Equal(got, []netip.Prefix{netip.MustParsePrefix("10.5.0.2/24")}) {
		t.Errorf("routed %v", got)
	}

	hw := hardware()
	hw.Links[0].Up = false
	must(t, m.SetHardware(hw))

	if got := routed(); len(got) != 0 {
		t.Errorf("routed %v without a link", got)
	}

	if there[*network.NodeAddress](t, m.State(), network.NodeAddressDefaultID) || there[*k8s.NodeIP](t, m.State(), k8s.KubeletID) {
		t.Error("there is an address without a link")
	}

	hw.Links[1].Up = true
	must(t, m.SetHardware(hw))

	if !there[*network.AddressStatus](t, m.State(), "eth1/10.5.0.2/24") || there[*network.AddressStatus](t, m.State(), "eth0/10.5.0.2/24") {
		t.Error("the address is not on the link that is up")
	}
}

func TestAnAddressInThePodNetworkIsDiagnosed(t *testing.T) {
	m := newMachine(t)
	must(t, m.SetConfig(generated(t, machine.TypeWorker, named, "cluster: {network: {podSubnets: [10.5.0.0/16]}}")))

	got := get[*runtime.Diagnostic](t, m.State(), "address-overlap").TypedSpec()
	if got.Message != "host and Kubernetes pod/service CIDR addresses overlap" {
		t.Errorf("got %+v", got)
	}

	must(t, m.SetConfig(generated(t, machine.TypeWorker, named)))

	if there[*runtime.Diagnostic](t, m.State(), "address-overlap") {
		t.Error("it stays")
	}

	must(t, m.SetDiagnostic("x", "something"))
	must(t, m.RemoveDiagnostic("x"))

	if there[*runtime.Diagnostic](t, m.State(), "x") {
		t.Error("it stays")
	}
}

// A flag that Talos refuses must not take the rest of the state with it.
func TestABadFlagCostsOnlyWhatNeedsIt(t *testing.T) {
	m := newMachine(t)

	err := m.SetConfig(generated(t, machine.TypeWorker, named, "machine: {kubelet: {extraArgs: {kubeconfig: /x}}}"))
	if err == nil {
		t.Error("nobody said anything")
	}

	if there[*k8s.KubeletSpec](t, m.State(), k8s.KubeletID) || !there[*k8s.Nodename](t, m.State(), k8s.NodenameID) {
		t.Error("the wrong things are missing")
	}
}
