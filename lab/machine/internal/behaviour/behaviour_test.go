package behaviour_test

import (
	"strings"
	"testing"

	"firstlight.dev/lab/machine/internal/behaviour"
)

func TestVersionsBehaveAsTheirLine(t *testing.T) {
	for version, before := range map[string]bool{
		"v1.12.4": true, "v1.13.0": true, "v1.13.9": true, "v1.14.0-beta.1": false, "v1.14.1": false, "v1.15.0": false,
		"1.13.0": true, "unknown": false,
	} {
		if got := behaviour.Of(version); got.AppliesByReboot != before || got.KubernetesDocuments == before {
			t.Errorf("%s: %+v", version, got)
		}
	}
}

const legacy = `
version: v1alpha1
machine: {type: controlplane, kubelet: {image: "kubelet:v1.36.0"}}
cluster:
  controlPlane: {endpoint: "https://10.5.0.2:6443"}
  apiServer: {image: "kube-apiserver:v1.36.0"}
  controllerManager: {image: "kube-controller-manager:v1.36.0"}
  scheduler: {image: "kube-scheduler:v1.36.0"}
`

func TestDocumentsAreUnknownBefore14(t *testing.T) {
	text := []byte(legacy + "---\n{apiVersion: v1alpha1, kind: KubePrismConfig, port: 7445}\n")

	if _, err := behaviour.Of("v1.14.1").Load(text); err != nil {
		t.Error(err)
	}

	_, err := behaviour.Of("v1.13.0").Load(text)
	if err == nil || !strings.Contains(err.Error(), `"KubePrismConfig" "v1alpha1": not registered`) {
		t.Errorf("got %v", err)
	}
}

func TestNetworksHaveDefaultsBefore14(t *testing.T) {
	for version, there := range map[string]bool{"v1.13.0": true, "v1.14.1": false} {
		cfg, err := behaviour.Of(version).Load([]byte(legacy))
		if err != nil {
			t.Fatal(err)
		}

		if got := cfg.K8sNetworkConfig() != nil && cfg.K8sFlannelCNIConfig() != nil; got != there {
			t.Errorf("%s: networks and Flannel: %v", version, got)
		}
	}
}

func TestConfigsThatAnOlderVersionRefuses(t *testing.T) {
	const version = "v1.13.0"

	for name, test := range map[string]struct {
		text        string
		uninstalled bool
		want        string
	}{
		"installed":                   {legacy, false, ""},
		"nowhere to install":          {legacy, true, "either install disk or diskSelector should be defined"},
		"a disk":                      {strings.Replace(legacy, "{type:", "{install: {disk: /dev/sda}, type:", 1), true, ""},
		"a Kubernetes of later years": {strings.ReplaceAll(legacy, "v1.36.0", "v1.37.0"), false, "kube-scheduler image is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			does := behaviour.Of(version)

			cfg, err := does.Load([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}

			err = does.Refuse(cfg, test.uninstalled, version)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v", err)
			}

			if err := behaviour.Of("v1.14.1").Refuse(cfg, test.uninstalled, "v1.14.1"); err != nil {
				t.Errorf("1.14: %v", err)
			}
		})
	}
}

// What is read back is compared with what was sent, down to the quotes.
func TestACompleteConfigKeepsItsText(t *testing.T) {
	text := strings.Replace(legacy, "cluster:\n", "cluster:\n  network: {}\n", 1) +
		"---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: cp-1\nauto: \"off\"\n"

	cfg, err := behaviour.Of("v1.13.0").Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	if got, err := cfg.Bytes(); err != nil || string(got) != text {
		t.Errorf("%v, got:\n%s", err, got)
	}
}
