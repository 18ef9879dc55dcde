package resources

import (
	"net/netip"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/files"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/time"
)

// networkServices are name servers, time servers and what depends on them, and if the network is ready at all.
func networkServices(f *facts) ([]owned, error) {
	resolvers := network.ResolverSpecSpec{NameServers: []network.NameServerSpec{
		{Addr: netip.MustParseAddr(constants.DefaultPrimaryResolver)},
		{Addr: netip.MustParseAddr(constants.DefaultSecondaryResolver)},
	}}
	timeServers := network.TimeServerSpecSpec{NTPServers: []string{constants.DefaultNTPServer}}
	syncDisabled := false

	if f.active != nil {
		if c := f.active.NetworkResolverConfig(); c != nil {
			if servers := c.Resolvers(); len(servers) > 0 {
				resolvers.NameServers = nil
				resolvers.ConfigLayer = network.ConfigMachineConfiguration

				for _, server := range servers {
					resolvers.NameServers = append(resolvers.NameServers, network.NameServerSpec{
						Addr: server.Addr, Protocol: server.Protocol, TLSServerName: server.TLSServerName,
					})
				}
			}

			if domain := f.hostname().Domainname; domain != "" && !c.DisableSearchDomain() {
				resolvers.SearchDomains = []string{domain}
			}

			if domains, given := c.SearchDomains().Get(); given {
				resolvers.SearchDomains = slices.Clone(domains)
				resolvers.SearchDomainsOverridden = true
				resolvers.ConfigLayer = network.ConfigMachineConfiguration
			}
		}

		if c := f.active.NetworkTimeSyncConfig(); c != nil {
			syncDisabled = c.Disabled()

			if servers := c.Servers(); len(servers) > 0 {
				timeServers.NTPServers = slices.Clone(servers)
				timeServers.ConfigLayer = network.ConfigMachineConfiguration
			}
		}
	}

	for _, server := range resolvers.NameServers {
		resolvers.DNSServers = append(resolvers.DNSServers, server.Addr) //nolint:staticcheck // clients still read it
	}

	out := []owned{
		of("network.ResolverMergeController",
			network.NewResolverSpec(network.NamespaceName, network.ResolverID), resolvers),
		of("network.ResolverSpecController", network.NewResolverStatus(network.NamespaceName, network.ResolverID),
			network.ResolverStatusSpec{
				DNSServers:    resolvers.DNSServers, //nolint:staticcheck // clients still read it
				NameServers:   resolvers.NameServers,
				SearchDomains: resolvers.SearchDomains,
			}),
		of("network.TimeServerMergeController",
			network.NewTimeServerSpec(network.NamespaceName, network.TimeServerID), timeServers),
		of("network.TimeServerSpecController", network.NewTimeServerStatus(network.NamespaceName, network.TimeServerID),
			network.TimeServerStatusSpec{NTPServers: timeServers.NTPServers}),
		of("time.SyncController", time.NewStatus(),
			time.StatusSpec{Synced: f.timeSynced || syncDisabled, SyncDisabled: syncDisabled}),
		of("network.StatusController", network.NewStatus(network.NamespaceName, network.StatusID), f.networkStatus()),
	}

	for _, file := range []string{"hosts", "resolv.conf"} {
		out = append(out, of("files.EtcFileController", files.NewEtcFileStatus(files.NamespaceName, file),
			files.EtcFileStatusSpec{SpecVersion: "1"}))
	}

	if hostDNS := f.hostDNS(); hostDNS != nil {
		dns := network.HostDNSConfigSpec{
			Enabled:            hostDNS.HostDNSEnabled(),
			ResolveMemberNames: hostDNS.ResolveMemberNames(),
			ListenAddresses:    []netip.AddrPort{netip.MustParseAddrPort("127.0.0.53:53")},
		}

		if hostDNS.ForwardKubeDNSToHost() {
			dns.ServiceHostDNSAddress = netip.MustParseAddr(constants.HostDNSAddress)
			dns.ListenAddresses = append(dns.ListenAddresses, netip.AddrPortFrom(dns.ServiceHostDNSAddress, 53))
		}

		out = append(out, of("network.HostDNSConfigController", network.NewHostDNSConfig(network.HostDNSConfigID), dns))
	}

	return out, nil
}

func (f *facts) networkStatus() network.StatusSpec {
	_, noGateway := netip.ParseAddr(f.hardware.Gateway)
	up := f.address().IsValid()

	return network.StatusSpec{
		AddressReady:      up,
		ConnectivityReady: up && noGateway == nil,
		HostnameReady:     f.hostname().Hostname != "",
		EtcFilesReady:     true,
	}
}
