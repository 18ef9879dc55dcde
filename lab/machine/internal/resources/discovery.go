package resources

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	resconfig "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/version"
)

// Member is what a machine tells the discovery service about itself.
type Member struct {
	NodeID          string       `json:"nodeId"`
	Hostname        string       `json:"hostname"`
	Nodename        string       `json:"nodename"`
	Addresses       []netip.Addr `json:"addresses"`
	MachineType     machine.Type `json:"machineType"` // controlplane or worker
	OperatingSystem string       `json:"operatingSystem"`
	// APIServerPort is there on control planes.
	APIServerPort int `json:"apiServerPort,omitempty"`
}

func (m Member) controlPlane() *cluster.ControlPlane {
	if m.APIServerPort == 0 {
		return nil
	}

	return &cluster.ControlPlane{APIServerPort: m.APIServerPort}
}

// Announcement is what this machine tells the discovery service; false while it has nothing to tell: no config, no
// hostname, or a config without discovery.
func (m *Machine) Announcement() (Member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.facts.announcement()
}

func (f *facts) announcement() (Member, bool) {
	if !f.configured() || !f.active.Cluster().Discovery().Enabled() || f.nodename() == "" {
		return Member{}, false
	}

	spec := f.hostname()

	member := Member{
		NodeID:          f.nodeID,
		Hostname:        spec.FQDN(),
		Nodename:        f.nodename(),
		Addresses:       f.clusterAddresses(),
		MachineType:     f.active.Machine().Type(),
		OperatingSystem: fmt.Sprintf("%s (%s)", version.Name, f.talos),
	}

	if f.controlPlane() {
		member.APIServerPort = f.active.Cluster().LocalAPIServerPort()
	}

	return member, true
}

// discovered are the machine itself and the others, by name. Without discovery there is nobody, not even itself.
func (f *facts) discovered() []Member {
	self, ok := f.announcement()
	if !ok {
		return nil
	}

	all := []Member{self}

	for _, m := range f.members {
		if m.NodeID != f.nodeID {
			all = append(all, m)
		}
	}

	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Nodename, b.Nodename) })

	return all
}

// discovery is who is in the cluster, and what follows for reaching its API servers.
func discovery(f *facts) ([]owned, error) {
	if !f.configured() {
		return nil, nil
	}

	cfg, err := discoveryConfig(f.active)

	out := []owned{
		of("cluster.NodeIdentityController", cluster.NewIdentity(cluster.NamespaceName, cluster.LocalIdentity),
			cluster.IdentitySpec{NodeID: f.nodeID}),
		of("cluster.ConfigController", cluster.NewConfig(resconfig.NamespaceName, cluster.ConfigID), cfg),
		of("cluster.InfoController", cluster.NewInfo(), cluster.InfoSpec{
			ClusterID: f.active.Cluster().ID(), ClusterName: f.active.Cluster().Name(),
		}),
	}

	members := f.discovered()

	var controlPlanes []netip.Addr

	for _, m := range members {
		out = append(out, memberResources(m, m.NodeID == f.nodeID)...)

		if m.MachineType.IsControlPlane() {
			controlPlanes = append(controlPlanes, m.Addresses...)
		}
	}

	slices.SortFunc(controlPlanes, netip.Addr.Compare)

	out = append(out, of("cluster.EndpointController",
		k8s.NewEndpoint(k8s.ControlPlaneNamespaceName, k8s.ControlPlaneDiscoveredEndpointsID),
		k8s.EndpointSpec{Addresses: controlPlanes}))

	return append(out, kubePrism(f, members)...), err
}

func memberResources(m Member, self bool) []owned {
	affiliate := cluster.AffiliateSpec{
		NodeID:          m.NodeID,
		Addresses:       m.Addresses,
		Hostname:        m.Hostname,
		Nodename:        m.Nodename,
		OperatingSystem: m.OperatingSystem,
		MachineType:     m.MachineType,
		ControlPlane:    m.controlPlane(),
	}

	owner := "cluster.AffiliateMergeController"
	if self {
		owner = "cluster.LocalAffiliateController"
	}

	out := []owned{of(owner, cluster.NewAffiliate(cluster.NamespaceName, m.NodeID), affiliate)}

	if !self {
		out = append(out, of("cluster.DiscoveryServiceController",
			cluster.NewAffiliate(cluster.RawNamespaceName, "service/"+m.NodeID), affiliate))
	}

	if m.Nodename == "" {
		return out
	}

	return append(out, of("cluster.MemberController", cluster.NewMember(cluster.NamespaceName, m.Nodename), cluster.MemberSpec{
		NodeID:          m.NodeID,
		Addresses:       m.Addresses,
		Hostname:        m.Hostname,
		MachineType:     m.MachineType,
		OperatingSystem: m.OperatingSystem,
		ControlPlane:    m.controlPlane(),
	}))
}

func discoveryConfig(cfg config.Config) (cluster.ConfigSpec, error) {
	d := cfg.Cluster().Discovery()

	spec := cluster.ConfigSpec{DiscoveryEnabled: d.Enabled()}
	if !spec.DiscoveryEnabled {
		return spec, nil
	}

	spec.RegistryKubernetesEnabled = d.Registries().Kubernetes().Enabled()
	spec.RegistryServiceEnabled = d.Registries().Service().Enabled()

	if !spec.RegistryServiceEnabled {
		return spec, nil
	}

	endpoint, err := url.ParseRequestURI(d.Registries().Service().Endpoint())
	if err != nil {
		return spec, err
	}

	spec.ServiceEndpointInsecure = endpoint.Scheme == "http"

	port := endpoint.Port()
	if port == "" && spec.ServiceEndpointInsecure {
		port = "80"
	} else if port == "" {
		port = "443"
	}

	spec.ServiceEndpoint = net.JoinHostPort(endpoint.Hostname(), port)
	spec.ServiceClusterID = cfg.Cluster().ID()
	spec.ServiceEncryptionKey, err = base64.StdEncoding.DecodeString(cfg.Cluster().Secret())

	return spec, err
}

// kubePrism is the local load balancer before the API servers, and where it finds them.
func kubePrism(f *facts, members []Member) []owned {
	var (
		endpoints []k8s.KubePrismEndpoint
		out       []owned
	)

	if endpoint := f.active.Cluster().Endpoint(); endpoint != nil {
		port, err := strconv.ParseUint(endpoint.Port(), 10, 32)
		if err != nil {
			port = 443
		}

		endpoints = append(endpoints, k8s.KubePrismEndpoint{Host: endpoint.Hostname(), Port: uint32(port)})

		if address, err := netip.ParseAddr(endpoint.Hostname()); err == nil {
			out = append(out, of("k8s.StaticEndpointController",
				k8s.NewEndpoint(k8s.ControlPlaneNamespaceName, k8s.ControlPlaneKubernetesEndpointsID),
				k8s.EndpointSpec{Addresses: []netip.Addr{address}}))
		}
	}

	if f.controlPlane() {
		endpoints = append(endpoints, k8s.KubePrismEndpoint{
			Host: "localhost", Port: uint32(f.active.Cluster().LocalAPIServerPort()),
		})
	}

	for _, m := range members {
		for _, address := range m.Addresses {
			if m.APIServerPort != 0 {
				endpoints = append(endpoints, k8s.KubePrismEndpoint{Host: address.String(), Port: uint32(m.APIServerPort)})
			}
		}
	}

	out = append(out, of("k8s.KubePrismEndpointsController",
		k8s.NewKubePrismEndpoints(k8s.NamespaceName, k8s.KubePrismEndpointsID),
		k8s.KubePrismEndpointsSpec{Endpoints: endpoints}))

	if prism := f.active.Machine().Features().KubePrism(); prism.Enabled() {
		out = append(out, of("k8s.KubePrismConfigController",
			k8s.NewKubePrismConfig(k8s.NamespaceName, k8s.KubePrismConfigID),
			k8s.KubePrismConfigSpec{Host: "127.0.0.1", Port: prism.Port(), Endpoints: endpoints}))
	}

	return out
}
