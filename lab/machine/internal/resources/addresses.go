package resources

import (
	"net"
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
)

// routeMetric is what Talos's DHCP client gives its routes.
const routeMetric = 1024

// addresses are those of lo and of the uplink, and the routes that follow.
//
// The declared address is taken as given by DHCP. Addresses, routes and virtual IPs of the config are not looked at: in
// a lab only the declared address leads anywhere.
func addresses(f *facts) ([]owned, error) {
	out := []owned{
		addressStatus("lo", 1, netip.MustParsePrefix("127.0.0.1/8"), nethelpers.ScopeHost, nethelpers.AddressPermanent),
		addressStatus("lo", 1, netip.MustParsePrefix("::1/128"), nethelpers.ScopeHost, nethelpers.AddressPermanent),
	}

	if hostDNS := f.hostDNS(); hostDNS != nil && hostDNS.ForwardKubeDNSToHost() {
		dns := netip.PrefixFrom(netip.MustParseAddr(constants.HostDNSAddress), 32)
		out = append(out, addressStatus("lo", 1, dns, nethelpers.ScopeHost, nethelpers.AddressPermanent))
	}

	for i, l := range f.hardware.Links {
		if mac, err := net.ParseMAC(l.MAC); err == nil && l.Up && len(mac) == 6 {
			out = append(out,
				addressStatus(l.Name, uint32(firstLink+i), linkLocal(mac), nethelpers.ScopeLink, nethelpers.AddressPermanent))
		}
	}

	address := f.address()
	if !address.IsValid() {
		return out, nil
	}

	index, _ := f.uplink()
	link := f.hardware.Links[index].Name

	out = append(out,
		addressStatus(link, uint32(firstLink+index), address, nethelpers.ScopeGlobal, 0),
		of("network.AddressMergeController",
			network.NewAddressSpec(network.NamespaceName, network.AddressID(link, address)),
			network.AddressSpecSpec{
				Address:     address,
				LinkName:    link,
				Family:      familyOf(address.Addr()),
				Scope:       nethelpers.ScopeGlobal,
				ConfigLayer: network.ConfigOperator,
			}),
		routeStatus(link, uint32(firstLink+index), network.RouteStatusSpec{
			Family:      familyOf(address.Addr()),
			Destination: address.Masked(),
			Source:      address.Addr(),
			Scope:       nethelpers.ScopeLink,
			Protocol:    nethelpers.ProtocolKernel,
		}),
	)

	if gateway, err := netip.ParseAddr(f.hardware.Gateway); err == nil {
		out = append(out,
			routeStatus(link, uint32(firstLink+index), network.RouteStatusSpec{
				Family:   familyOf(gateway),
				Source:   address.Addr(),
				Gateway:  gateway,
				Scope:    nethelpers.ScopeGlobal,
				Protocol: nethelpers.ProtocolBoot,
			}),
			of("network.RouteMergeController",
				network.NewRouteSpec(network.NamespaceName,
					network.RouteID(nethelpers.TableMain, familyOf(gateway), netip.Prefix{}, gateway, routeMetric, link)),
				network.RouteSpecSpec{
					Family:      familyOf(gateway),
					Source:      address.Addr(),
					Gateway:     gateway,
					OutLinkName: link,
					Table:       nethelpers.TableMain,
					Priority:    routeMetric,
					Scope:       nethelpers.ScopeGlobal,
					Type:        nethelpers.TypeUnicast,
					Protocol:    nethelpers.ProtocolBoot,
					ConfigLayer: network.ConfigOperator,
				}))
	}

	return out, nil
}

func addressStatus(link string, index uint32, address netip.Prefix, scope nethelpers.Scope, flags nethelpers.AddressFlag) owned {
	spec := network.AddressStatusSpec{
		Address:   address,
		LinkIndex: index,
		LinkName:  link,
		Family:    familyOf(address.Addr()),
		Scope:     scope,
		Flags:     nethelpers.AddressFlags(flags),
	}

	if address.Addr().Is4() {
		spec.Local = address.Addr()
	}

	if address.Addr().Is4() && scope == nethelpers.ScopeGlobal {
		spec.Broadcast = broadcast(address)
	}

	return of("network.AddressStatusController",
		network.NewAddressStatus(network.NamespaceName, network.AddressID(link, address)), spec)
}

func routeStatus(link string, index uint32, spec network.RouteStatusSpec) owned {
	spec.OutLinkName, spec.OutLinkIndex = link, index
	spec.Table, spec.Type, spec.Priority = nethelpers.TableMain, nethelpers.TypeUnicast, routeMetric

	return of("network.RouteStatusController",
		network.NewRouteStatus(network.NamespaceName,
			network.RouteID(spec.Table, spec.Family, spec.Destination, spec.Gateway, spec.Priority, link)), spec)
}

func familyOf(a netip.Addr) nethelpers.Family {
	if a.Is4() {
		return nethelpers.FamilyInet4
	}

	return nethelpers.FamilyInet6
}

func broadcast(p netip.Prefix) netip.Addr {
	raw := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		raw[bit/8] |= 0x80 >> (bit % 8)
	}

	return netip.AddrFrom4(raw)
}

// linkLocal is the IPv6 address that a link with this hardware address gives itself.
func linkLocal(mac net.HardwareAddr) netip.Prefix {
	raw := [16]byte{0xfe, 0x80, 8: mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}

	return netip.PrefixFrom(netip.AddrFrom16(raw), 64)
}
