// Package behaviour is what versions of Talos do differently. The machinery is that of one version; where another one
// behaves otherwise, a machine asks here, and so does as the version that it runs.
package behaviour

import (
	"github.com/blang/semver/v4"
)

// Behaviour is what a version of Talos does.
type Behaviour struct {
	// AppliesByReboot says that a change of config that a running machine cannot take reboots it, and that a caller may
	// ask for a reboot. Else such a change waits for the next reboot, silently.
	AppliesByReboot bool
	// CNIManifestsFirst puts the manifests of a custom CNI before Talos's own, and sends them no headers.
	CNIManifestsFirst bool
	// KubernetesDocuments says that settings of Kubernetes may be documents of their own, and that a config without any
	// word of networks has none.
	KubernetesDocuments bool
	// FinalConfigs says that the configs of the control plane are there a second time, with all flags.
	FinalConfigs bool
	// OnlyTLS13 is what the API server accepts.
	OnlyTLS13 bool
	// BootstrapAfterInstallation refuses to bootstrap etcd while an installation is under way or a reboot is due.
	BootstrapAfterInstallation bool
	// FlannelByNFTables is how Flannel masquerades.
	FlannelByNFTables bool
}

var first14 = semver.MustParse("1.14.0")

// Of is the behaviour of a version such as v1.14.1; of one that cannot be read, the newest.
func Of(version string) Behaviour {
	parsed, err := semver.ParseTolerant(version)
	if err == nil {
		parsed.Pre = nil // v1.14.0-beta.1 behaves as v1.14.0
	}

	if err == nil && parsed.LT(first14) {
		return Behaviour{AppliesByReboot: true, CNIManifestsFirst: true}
	}

	return Behaviour{
		KubernetesDocuments: true, FinalConfigs: true, OnlyTLS13: true, BootstrapAfterInstallation: true,
		FlannelByNFTables: true,
	}
}
