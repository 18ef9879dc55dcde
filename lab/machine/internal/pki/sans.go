package pki

import (
	"cmp"
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
)

// Names is how a machine can be reached.
type Names struct {
	// Hostname without its domain. May be empty in maintenance mode.
	Hostname string
	// FQDN is Hostname with its domain; empty if there is none.
	FQDN string
	// Machine is the name in the lab's book. The lab resolves it as a DNS server would, so certificates must have it.
	Machine string
	// Addresses are the declared and the loopback one.
	Addresses []netip.Addr
}

// SANs are the names in the certificates of apid and trustd of a configured machine.
func SANs(root *secrets.OSRootSpec, names Names) *secrets.CertSANSpec {
	var sans secrets.CertSANSpec

	sans.AppendIPs(root.CertSANIPs...)
	sans.AppendIPs(names.Addresses...)
	sans.AppendDNSNames(root.CertSANDNSNames...)
	sans.AppendDNSNames(names.Hostname, names.FQDN, names.Machine)
	sans.FQDN = cmp.Or(names.FQDN, names.Hostname)
	sans.Sort()

	return &sans
}

// MaintenanceSANs are the names in the certificate of a machine without a config.
func MaintenanceSANs(names Names) *secrets.CertSANSpec {
	var sans secrets.CertSANSpec

	sans.AppendIPs(names.Addresses...)
	sans.AppendIPs(netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback())
	sans.AppendDNSNames(names.Hostname, names.FQDN, names.Machine)
	sans.FQDN = constants.MaintenanceServiceCommonName
	sans.Sort()

	return &sans
}
