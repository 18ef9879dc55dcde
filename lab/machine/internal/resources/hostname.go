package resources

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
)

// ErrNoHostname is a machine that nobody has given a name yet.
var ErrNoHostname = errors.New("the machine has no hostname")

// NodeID is the identity of a machine with this UUID. Real machines roll dice at the first boot; here it must stay the
// same without a file.
func NodeID(uuid string) string {
	sum := sha256.Sum256([]byte("node identity\x00" + uuid))

	return nodeIDFrom(sum)
}

// NewNodeID is the identity of a machine whose STATE was wiped.
func NewNodeID() string {
	var raw [32]byte

	rand.Read(raw[:]) // never fails

	return nodeIDFrom(raw)
}

// nodeIDFrom keeps the highest bit set, so that the length is always the same.
func nodeIDFrom(raw [32]byte) string {
	raw[0] |= 0x80

	return new(big.Int).SetBytes(raw[:]).Text(62)
}

// StableHostname is what Talos calls a machine with this identity: talos-xxx-yyy.
func StableHostname(nodeID string) string {
	sum := sha256.Sum256([]byte(nodeID))
	digits := new(big.Int).SetBytes(sum[:8]).Text(36)

	// Leading zero bytes give a leading zero digit each.
	for _, b := range sum[:8] {
		if b != 0 {
			break
		}

		digits = "0" + digits
	}

	return fmt.Sprintf("talos-%s-%s", digits[1:4], digits[4:7])
}

// Hostname is the name that a config gives to a machine with this identity and address: the configured one, else a
// stable one, else (configs of old Talos) one from the address. Without a config there is none.
func Hostname(cfg config.Config, nodeID string, address netip.Addr) network.HostnameSpecSpec {
	var spec network.HostnameSpecSpec

	if cfg == nil || cfg.NetworkHostnameConfig() == nil {
		return spec
	}

	c := cfg.NetworkHostnameConfig()

	if name := c.Hostname(); name != "" {
		if err := spec.ParseFQDN(name); err != nil {
			return network.HostnameSpecSpec{}
		}

		spec.ConfigLayer = network.ConfigMachineConfiguration

		return spec
	}

	switch c.AutoHostname() {
	case nethelpers.AutoHostnameKindStable:
		spec.Hostname = StableHostname(nodeID)
	case nethelpers.AutoHostnameKindAddr:
		if address.IsValid() {
			spec.Hostname = "talos-" + strings.NewReplacer(":", "", ".", "-").Replace(address.String())
		}
	case nethelpers.AutoHostnameKindOff:
	}

	return spec
}

// Nodename is the name of the Node of a machine with this config, identity and address.
func Nodename(cfg config.Config, nodeID string, address netip.Addr) (string, error) {
	spec := Hostname(cfg, nodeID, address)
	if spec.Hostname == "" {
		return "", ErrNoHostname
	}

	name := spec.Hostname
	if node := cfg.K8sNodeConfig(); node != nil && node.RegisterWithFQDN() {
		name = spec.FQDN()
	}

	return nodenameFromHostname(name)
}

// nodenameFromHostname makes a name that Kubernetes takes, by Talos's rules.
func nodenameFromHostname(hostname string) (string, error) {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '_':
			return '-'
		default:
			return -1
		}
	}, hostname)

	if name = strings.Trim(name, "-."); name == "" {
		return "", fmt.Errorf("could not convert hostname %q to a valid Kubernetes Node name", hostname)
	}

	return name, nil
}

// Nodename is the name of this machine's Node with a config, which need not be the one that is applied.
func (m *Machine) Nodename(cfg config.Config) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	return Nodename(cfg, m.facts.nodeID, m.facts.address().Addr())
}

func (f *facts) hostname() network.HostnameSpecSpec {
	if f.active == nil {
		return network.HostnameSpecSpec{}
	}

	return Hostname(f.active, f.nodeID, f.address().Addr())
}

// nodename of the machine; empty if it has none (yet).
func (f *facts) nodename() string {
	if f.active == nil {
		return ""
	}

	name, err := Nodename(f.active, f.nodeID, f.address().Addr())
	if err != nil {
		return ""
	}

	return name
}

func hostname(f *facts) ([]owned, error) {
	spec := f.hostname()
	if spec.Hostname == "" {
		return nil, nil
	}

	return []owned{
		of("network.HostnameMergeController", network.NewHostnameSpec(network.NamespaceName, network.HostnameID), spec),
		of("network.HostnameSpecController", network.NewHostnameStatus(network.NamespaceName, network.HostnameID),
			network.HostnameStatusSpec{Hostname: spec.Hostname, Domainname: spec.Domainname}),
	}, nil
}

// nodename says from which version of the hostname it was made.
func nodename(f *facts, version versions) ([]owned, error) {
	if f.active == nil || f.active.K8sNodeConfig() == nil || f.hostname().Hostname == "" {
		return nil, nil
	}

	name, err := Nodename(f.active, f.nodeID, f.address().Addr())
	if err != nil {
		return nil, err
	}

	return []owned{
		of("k8s.NodenameController", k8s.NewNodename(k8s.NamespaceName, k8s.NodenameID), k8s.NodenameSpec{
			Nodename:             name,
			HostnameVersion:      version(network.NewHostnameStatus(network.NamespaceName, network.HostnameID).Metadata()),
			SkipNodeRegistration: f.active.K8sNodeConfig().SkipNodeRegistration(),
		}),
	}, nil
}
