package resources

import (
	"fmt"
	"net/netip"
	"slices"

	sideronet "github.com/siderolabs/net"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/etcd"
)

// etcdMember is how etcd is to be run, and which member it is.
func etcdMember(f *facts) ([]owned, error) {
	if !f.controlPlane() {
		return nil, nil
	}

	cfg := etcdConfig(f.active)

	out := []owned{
		of("etcd.ConfigController", etcd.NewConfig(etcd.NamespaceName, etcd.ConfigID), cfg),
		of("etcd.PKIController", etcd.NewPKIStatus(etcd.NamespaceName, etcd.PKIID),
			etcd.PKIStatusSpec{Ready: true, Version: "1"}),
	}

	if f.etcdMember != 0 && f.services["etcd"].Healthy {
		out = append(out, of("etcd.MemberController", etcd.NewMember(etcd.NamespaceName, etcd.LocalMemberID),
			etcd.MemberSpec{MemberID: etcd.FormatMemberID(f.etcdMember)}))
	}

	spec, err := etcdSpec(f, cfg)
	if err != nil || spec == nil {
		return out, err
	}

	return append(out, of("etcd.SpecController", etcd.NewSpec(etcd.NamespaceName, etcd.SpecID), *spec)), nil
}

func etcdConfig(cfg config.Config) etcd.ConfigSpec {
	source := cfg.Cluster().Etcd()

	args := make(map[string]etcd.ArgValues, len(source.ExtraArgs()))
	for flag, values := range source.ExtraArgs() {
		args[flag] = etcd.ArgValues{Values: values}
	}

	return etcd.ConfigSpec{
		AdvertiseValidSubnets:   source.AdvertisedSubnets(),
		AdvertiseExcludeSubnets: virtualIPs(cfg),
		ListenValidSubnets:      source.ListenSubnets(),
		Image:                   source.Image(),
		ExtraArgs:               args,
	}
}

// etcdSpec is nil while the machine has no name or no address that etcd may advertise.
func etcdSpec(f *facts, cfg etcd.ConfigSpec) (*etcd.SpecSpec, error) {
	addresses := f.clusterAddresses()
	if len(addresses) == 0 || f.hostname().Hostname == "" {
		return nil, nil
	}

	rules := slices.Clone(cfg.AdvertiseValidSubnets)
	if len(rules) == 0 {
		rules = []string{"0.0.0.0/0", "::/0"}
	}

	for _, subnet := range cfg.AdvertiseExcludeSubnets {
		rules = append(rules, "!"+subnet)
	}

	advertised, err := sideronet.FilterIPs(addresses, rules)
	if err != nil {
		return nil, fmt.Errorf("error filtering IPs: %w", err)
	}

	// Without a rule it is the first address alone.
	if len(cfg.AdvertiseValidSubnets) == 0 && len(advertised) > 1 {
		advertised = advertised[:1]
	}

	peers := []netip.Addr{netip.IPv4Unspecified()}
	clients := peers

	if len(cfg.ListenValidSubnets) > 0 {
		if peers, err = sideronet.FilterIPs(addresses, cfg.ListenValidSubnets); err != nil {
			return nil, fmt.Errorf("error filtering IPs: %w", err)
		}

		clients = append([]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, peers...)
	}

	if len(advertised) == 0 || len(peers) == 0 {
		return nil, nil
	}

	return &etcd.SpecSpec{
		Name:                  f.hostname().Hostname,
		AdvertisedAddresses:   advertised,
		ListenPeerAddresses:   peers,
		ListenClientAddresses: clients,
		Image:                 cfg.Image,
		ExtraArgs:             cfg.ExtraArgs,
	}, nil
}
