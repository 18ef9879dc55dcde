package resources

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
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
	if !f.configured() || !discoveryEnabled(f.active) || f.nodename() == "" {
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
		member.APIServerPort = f.active.K8sAPIServerConfig().APIPort()
	}

	return member, true
}

// discoveryEnabled says whether members find each other, by a service or by Kubernetes.
func discoveryEnabled(cfg config.Config) bool {
	return len(cfg.DiscoveryServiceConfigs()) > 0 || cfg.Cluster().Discovery().Enabled()
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
		of("cluster.InfoController", cluster.NewInfo(), clusterInfo(f.active)),
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
	var spec cluster.ConfigSpec

	if d := cfg.Cluster().Discovery(); d.Enabled() {
		spec.RegistryKubernetesEnabled = d.Registries().Kubernetes().Enabled()
	}

	for _, service := range cfg.DiscoveryServiceConfigs() {
		endpoint := service.Endpoint()
		insecure := endpoint.Scheme == "http"

		port := endpoint.Port()
		if port == "" && insecure {
			port = "80"
		} else if port == "" {
			port = "443"
		}

		spec.ServiceEndpoints = append(spec.ServiceEndpoints, cluster.ServiceEndpoint{
			Name: service.Name(), Endpoint: net.JoinHostPort(endpoint.Hostname(), port), Insecure: insecure,
		})
	}

	if len(spec.ServiceEndpoints) == 0 {
		return spec, nil
	}

	// The fields of earlier versions, which clients still read.
	first := spec.ServiceEndpoints[0]
	spec.RegistryServiceEnabled, spec.ServiceEndpoint, spec.ServiceEndpointInsecure = true, first.Endpoint, first.Insecure //nolint:staticcheck

	identity := cfg.DiscoveryIdentityConfig()
	if identity == nil {
		return spec, errors.New("cluster identity is required when discovery service is configured")
	}

	var err error

	spec.ServiceClusterID = identity.ClusterID()
	spec.ServiceEncryptionKey, err = base64.StdEncoding.DecodeString(identity.ClusterSecret())

	return spec, err
}

func clusterInfo(cfg config.Config) cluster.InfoSpec {
	var spec cluster.InfoSpec

	if identity := cfg.DiscoveryIdentityConfig(); identity != nil {
		spec.ClusterID = identity.ClusterID()
	}

	if named := cfg.K8sClusterConfig(); named != nil {
		spec.ClusterName = named.ClusterName()
	}

	return spec
}

// kubePrism is the local load balancer before the API servers, and where it finds them.
func kubePrism(f *facts, members []Member) []owned {
	var (
		endpoints []k8s.KubePrismEndpoint
		out       []owned
	)

	if named := f.active.K8sClusterConfig(); named != nil {
		endpoint := named.ClusterEndpoint()

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
			Host: "localhost", Port: uint32(f.active.K8sAPIServerConfig().APIPort()),
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

	if prism := f.active.K8sKubePrismConfig(); prism != nil {
		out = append(out, of("k8s.KubePrismConfigController",
			k8s.NewKubePrismConfig(k8s.NamespaceName, k8s.KubePrismConfigID),
			k8s.KubePrismConfigSpec{Host: "127.0.0.1", Port: prism.Port(), Endpoints: endpoints}))
	}

	return out
}
