package manifests

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/siderolabs/talos/pkg/argsbuilder"
	"github.com/siderolabs/talos/pkg/images"
	"github.com/siderolabs/talos/pkg/kubernetes"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// nftablesSince is the version of kube-proxy from which Talos chooses nftables when the config says nothing.
var nftablesSince = semver.MustParse("1.31.0")

// wanted says whether a machine with this config has manifests at all: only control planes do.
func wanted(cfg config.Config) bool {
	return cfg != nil && cfg.Machine() != nil && cfg.Cluster() != nil && cfg.Machine().Type().IsControlPlane()
}

// Bootstrap is what the config of a control plane says about Talos's own manifests.
func Bootstrap(cfg config.Config) (spec k8s.BootstrapManifestsConfigSpec, err error) {
	// Talos's list of images panics on a reference that cannot be parsed; in a machine that is a failed controller.
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("images of the config: %v", problem)
		}
	}()

	cluster := cfg.Cluster()
	network := cluster.Network()
	all := images.List(cfg)

	spec = k8s.BootstrapManifestsConfigSpec{
		Server:        cluster.Endpoint().String(),
		ClusterDomain: network.DNSDomain(),
		PodCIDRs:      network.PodCIDRs(),
		CNIName:       network.CNI().Name(),

		ProxyEnabled: cluster.Proxy().Enabled(),
		ProxyImage:   cluster.Proxy().Image(),

		CoreDNSEnabled: cluster.CoreDNS().Enabled(),
		CoreDNSImage:   cluster.CoreDNS().Image(),

		FlannelEnabled:                    network.CNI().Name() == constants.FlannelCNI,
		FlannelImage:                      all.Flannel.String(),
		FlannelExtraArgs:                  network.CNI().Flannel().ExtraArgs(),
		FlannelKubeNetworkPoliciesEnabled: network.CNI().Flannel().KubeNetworkPoliciesEnabled(),
		FlannelKubeNetworkPoliciesImage:   all.KubeNetworkPolicies.String(),

		TalosAPIServiceEnabled: cfg.Machine().Features().KubernetesTalosAPIAccess().Enabled(),
	}

	if prism := cfg.Machine().Features().KubePrism(); prism.Enabled() {
		spec.FlannelKubeServiceHost = "127.0.0.1"
		spec.FlannelKubeServicePort = strconv.Itoa(prism.Port())
		spec.Server = "https://127.0.0.1:" + spec.FlannelKubeServicePort
	}

	addresses, err := network.DNSServiceIPs()
	if err != nil {
		return spec, fmt.Errorf("error calculating DNS service IPs: %w", err)
	}

	for _, address := range addresses {
		switch {
		case address.Is4() && spec.DNSServiceIP == "":
			spec.DNSServiceIP = address.String()
		case address.Is6() && spec.DNSServiceIPv6 == "":
			spec.DNSServiceIPv6 = address.String()
		}
	}

	spec.ProxyArgs, err = proxyArgs(cfg)

	return spec, err
}

// proxyArgs are the flags of kube-proxy, sorted; the config may change all but the kubeconfig.
func proxyArgs(cfg config.Config) ([]string, error) {
	proxy := cfg.Cluster().Proxy()
	mode := proxy.Mode()

	if mode == "" {
		mode = "iptables"

		if kubernetes.VersionGTE(proxy.Image(), nftablesSince) {
			mode = "nftables"
		}
	}

	args := argsbuilder.Args{
		"cluster-cidr":           {strings.Join(cfg.Cluster().Network().PodCIDRs(), ",")},
		"conntrack-max-per-core": {"0"},
		"hostname-override":      {"$(NODE_NAME)"},
		"kubeconfig":             {"/etc/kubernetes/kubeconfig"},
		"proxy-mode":             {mode},
	}

	fixed := argsbuilder.MergePolicies{"kubeconfig": argsbuilder.MergeDenied}
	if err := args.Merge(proxy.ExtraArgs(), argsbuilder.WithMergePolicies(fixed)); err != nil {
		return nil, err
	}

	return args.Args(), nil
}
