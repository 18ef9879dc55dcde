package resources

import (
	"fmt"
	"net"

	"github.com/siderolabs/talos/pkg/machinery/nethelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
)

// firstLink is the kernel's index of the first declared link; lo is 1.
const firstLink = 2

// links are lo and the declared network interfaces.
func links(f *facts) ([]owned, error) {
	const (
		specOwner   = "network.LinkMergeController"
		statusOwner = "network.LinkStatusController"
	)

	out := []owned{
		of(specOwner, network.NewLinkSpec(network.NamespaceName, "lo"), network.LinkSpecSpec{
			Name: "lo", Up: true, Type: nethelpers.LinkLoopbck,
		}),
		of(statusOwner, network.NewLinkStatus(network.NamespaceName, "lo"), network.LinkStatusSpec{
			Index: 1,
			Type:  nethelpers.LinkLoopbck,
			Flags: linkFlags(
				nethelpers.LinkUp, nethelpers.LinkLoopback, nethelpers.LinkRunning, nethelpers.LinkLowerUp),
			HardwareAddr:     make(nethelpers.HardwareAddr, 6),
			BroadcastAddr:    make(nethelpers.HardwareAddr, 6),
			MTU:              65536,
			QueueDisc:        "noqueue",
			OperationalState: nethelpers.OperStateUnknown,
			LinkState:        true,
			Port:             nethelpers.Other,
			Duplex:           nethelpers.Unknown,
		}),
	}

	for i, l := range f.hardware.Links {
		mac, err := net.ParseMAC(l.MAC)
		if err != nil {
			return out, fmt.Errorf("link %s: %w", l.Name, err)
		}

		status := network.LinkStatusSpec{
			Index:            uint32(firstLink + i),
			Type:             nethelpers.LinkEther,
			Flags:            linkFlags(nethelpers.LinkUp, nethelpers.LinkBroadcast, nethelpers.LinkMulticast),
			HardwareAddr:     nethelpers.HardwareAddr(mac),
			PermanentAddr:    nethelpers.HardwareAddr(mac),
			BroadcastAddr:    nethelpers.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
			MTU:              1500,
			QueueDisc:        "pfifo_fast",
			OperationalState: nethelpers.OperStateDown,
			BusPath:          fmt.Sprintf("0000:%02x:00.0", i+1),
			PCIID:            "1AF4:1041",
			Driver:           "virtio_net",
			Port:             nethelpers.Other,
			Duplex:           nethelpers.Unknown,
		}

		// Talos brings all links up; one without a cable stays down all the same.
		if l.Up {
			status.Flags |= linkFlags(nethelpers.LinkRunning, nethelpers.LinkLowerUp)
			status.OperationalState = nethelpers.OperStateUp
			status.LinkState = true
			status.SpeedMegabits = int(l.Speed)
			status.Duplex = nethelpers.Full
		}

		out = append(out,
			of(specOwner, network.NewLinkSpec(network.NamespaceName, l.Name), network.LinkSpecSpec{
				Name: l.Name, Up: true, Type: nethelpers.LinkEther,
			}),
			of(statusOwner, network.NewLinkStatus(network.NamespaceName, l.Name), status),
		)

		if i == 0 {
			out = append(out, of("network.HardwareAddrController",
				network.NewHardwareAddr(network.NamespaceName, network.FirstHardwareAddr),
				network.HardwareAddrSpec{Name: l.Name, HardwareAddr: nethelpers.HardwareAddr(mac)}))
		}
	}

	return out, nil
}

func linkFlags(flags ...nethelpers.LinkFlag) nethelpers.LinkFlags {
	var all nethelpers.LinkFlags

	for _, flag := range flags {
		all |= nethelpers.LinkFlags(flag)
	}

	return all
}
