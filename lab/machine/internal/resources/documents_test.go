package resources_test

import (
	"slices"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"

	"firstlight.dev/lab/machine/internal/resources"
)

// since14 is a machine that runs Talos 1.14, installed, with a config of documents.
func since14(t *testing.T, patches ...string) *resources.Machine {
	t.Helper()

	m := newMachine(t)
	settle(t, m, generatedFor(t, config.TalosVersion1_14, machine.TypeControlPlane, append([]string{named}, patches...)...))
	must(t, m.SetVersion("v1.14.1"))

	return m
}

func TestDocumentsDecideTheControlPlane(t *testing.T) {
	m := since14(t,
		"{apiVersion: v1alpha1, kind: KubeAPIServerConfig, extraArgs: {feature-gates: X=true}, certExtraSANs: [k8s.lab.example]}",
		"{apiVersion: v1alpha1, kind: KubeSchedulerConfig, enabled: false}",
		"{apiVersion: v1alpha1, kind: KubePrismConfig, port: 7999}")
	st := m.State()

	server := get[*k8s.APIServerConfig](t, st, k8s.FinalAPIServerConfigID).TypedSpec()
	for _, flag := range []string{
		"--feature-gates=X=true", "--tls-min-version=VersionTLS13", "--service-account-issuer=https://10.5.0.2:6443",
		"--authentication-config=/system/config/kubernetes/kube-apiserver/authentication-config.yaml",
	} {
		if !slices.Contains(server.Args, flag) {
			t.Errorf("no %s in %q", flag, server.Args)
		}
	}

	pod := get[*k8s.StaticPod](t, st, k8s.APIServerID)
	version := get[*k8s.APIServerConfig](t, st, k8s.FinalAPIServerConfigID).Metadata().Version().String()

	if got := at(pod.TypedSpec().Pod, "metadata.annotations"); got == "" {
		t.Error("no annotations")
	}

	if got := walk(pod.TypedSpec().Pod, "metadata.annotations.talos.dev/config-version"); got != version {
		t.Errorf("the pod is of config %s, the final config is %s: upgrade-k8s would wait for ever", got, version)
	}

	if there[*k8s.StaticPod](t, st, k8s.SchedulerID) {
		t.Error("the scheduler runs, although a document disables it")
	}

	root := get[*secrets.KubernetesRoot](t, st, secrets.KubernetesRootID).TypedSpec()
	if root.LocalEndpoint.Host != "127.0.0.1:7999" || !slices.Contains(root.CertSANs, "k8s.lab.example") {
		t.Errorf("got %s, %q", root.LocalEndpoint, root.CertSANs)
	}

	if root.EtcdEncryptionConfig == nil || root.IssuerURL != "https://10.5.0.2:6443" {
		t.Errorf("encryption %v, issuer %s", root.EtcdEncryptionConfig, root.IssuerURL)
	}
}

// Labels and taints are those of the document and no others.
func TestDocumentsDecideTheNode(t *testing.T) {
	const away = "apiVersion: v1alpha1\nkind: KubeNodeConfig\n" +
		"taints: {node-role.kubernetes.io/control-plane: {$patch: delete}, slow: 'yes:NoSchedule'}\n"

	st := since14(t, away).State()

	if there[*k8s.NodeTaintSpec](t, st, "node-role.kubernetes.io/control-plane") {
		t.Error("the taint is there, although the document does not have it")
	}

	if got := get[*k8s.NodeTaintSpec](t, st, "slow").TypedSpec(); got.Value != "yes" || got.Effect != "NoSchedule" {
		t.Errorf("got %+v", got)
	}

	kubelet := get[*k8s.KubeletSpec](t, st, k8s.KubeletID).TypedSpec()
	if got := at(kubelet.Config, "registerWithTaints.0.key"); got != "slow" {
		t.Errorf("the kubelet registers with %q", got)
	}
}

func TestAnUnattendedInstallationTellsHowFarItIs(t *testing.T) {
	const elsewhere = "apiVersion: v1alpha1\nkind: UnattendedInstallConfig\nprovisioning: {diskSelector: {match: disk.serial == 'none'}}\n"

	phase := func(m *resources.Machine) runtime.UnattendedInstallPhase {
		status := get[*runtime.UnattendedInstallStatus](t, m.State(), runtime.UnattendedInstallStatusID)

		return status.TypedSpec().Phase
	}

	m := since14(t)
	if got := phase(m); got != runtime.UnattendedInstallPhaseInstalled {
		t.Errorf("installed: %s", got)
	}

	m = since14(t, elsewhere)
	must(t, m.SetInstalled(""))

	if got := phase(m); got != runtime.UnattendedInstallPhasePending {
		t.Errorf("no disk: %s", got)
	}
}

// Before 1.14 the same control plane has its configs once.
func TestFinalConfigsAreOf14(t *testing.T) {
	m := newMachine(t)
	settle(t, m, generated(t, machine.TypeControlPlane, named))

	if there[*k8s.APIServerConfig](t, m.State(), k8s.FinalAPIServerConfigID) {
		t.Error("a machine of 1.13 has final configs")
	}
}

func TestTheResolverIsADocument(t *testing.T) {
	st := since14(t, "apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: 10.5.0.53}]\n").State()

	if got := get[*network.ResolverStatus](t, st, network.ResolverID).TypedSpec().NameServers; len(got) != 1 || got[0].Addr.String() != "10.5.0.53" {
		t.Errorf("got %v", got)
	}

	if !get[*network.HostDNSConfig](t, st, network.HostDNSConfigID).TypedSpec().Enabled {
		t.Error("hostDNS of the generated ResolverConfig is off")
	}
}
