package resources

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/block/blockhelpers"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"

	"firstlight.dev/lab/machine/internal/book"
)

// sectorSize of all disks.
const sectorSize = 512

// ErrNoDisk is a config that wants to install on a disk that the machine does not have.
var ErrNoDisk = errors.New("no such disk")

// InstallDisk is the device on which a config wants Talos installed; empty if it says nothing about it.
func (m *Machine) InstallDisk(cfg config.Config) (string, error) {
	if cfg == nil || cfg.Machine() == nil {
		return "", nil
	}

	install := cfg.Machine().Install()

	expression, err := install.DiskMatchExpression()
	if err != nil {
		return "", fmt.Errorf("install disk selector is invalid: %w", err)
	}

	if document := cfg.UnattendedInstallConfig(); document != nil {
		selector := document.VolumeSelector()
		expression = &selector
	}

	if expression != nil {
		matched, err := blockhelpers.MatchDisks(context.Background(), m.state, expression)
		if err != nil {
			return "", err
		}

		if len(matched) == 0 {
			return "", fmt.Errorf("%w: no disks matched the expression: %s", ErrNoDisk, expression)
		}

		return matched[0].TypedSpec().DevPath, nil
	}

	wanted := install.Disk()
	if wanted == "" {
		return "", nil
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	for i, d := range m.facts.hardware.Disks {
		if d.Device == wanted || slices.Contains(symlinksOf(d, i), wanted) {
			return d.Device, nil
		}
	}

	return "", fmt.Errorf("%w: %s", ErrNoDisk, wanted)
}

// disks are the disks of the machine, and the block devices that they and their partitions are.
func disks(f *facts) ([]owned, error) {
	var out []owned

	for i, d := range f.hardware.Disks {
		id := path.Base(d.Device)
		symlinks := symlinksOf(d, i)

		spec := block.DiskSpec{
			DevPath:    d.Device,
			IOSize:     sectorSize,
			SectorSize: sectorSize,
			Readonly:   d.ReadOnly,
			Model:      d.Model,
			Serial:     d.Serial,
			WWID:       wwidOf(d),
			BusPath:    diskBusPath(d, i),
			SubSystem:  "/sys/class/block",
			Transport:  transportOf(d),
			Rotational: d.Rotational,
			Symlinks:   symlinks,
		}
		spec.SetSize(d.Size)

		device := block.DeviceSpec{
			Type:       block.DeviceTypeDisk,
			Major:      majorOf(d),
			Minor:      16 * i,
			DevicePath: devicePath(d, i),
			Generation: 1,
		}

		out = append(out,
			of("block.DisksController", block.NewDisk(block.NamespaceName, id), spec),
			of("block.DevicesController", block.NewDevice(block.NamespaceName, id), device),
			of("block.SymlinksController", block.NewSymlink(block.NamespaceName, id), block.SymlinkSpec{Paths: symlinks}),
		)
	}

	return out, nil
}

// transportOf is what the hardware says, else what the name of the device tells.
func transportOf(d book.Disk) string {
	if d.Transport != "" {
		return d.Transport
	}

	name := path.Base(d.Device)

	for prefix, transport := range map[string]string{"nvme": "nvme", "vd": "virtio", "mmcblk": "mmc", "sd": "sata"} {
		if strings.HasPrefix(name, prefix) {
			return transport
		}
	}

	return ""
}

// wwidOf is a worldwide name that stays the same for a disk with the same serial number.
func wwidOf(d book.Disk) string {
	if d.Serial == "" {
		return ""
	}

	switch transportOf(d) {
	case "nvme":
		return "eui." + digest(16, d.Model, d.Serial)
	case "virtio":
		return ""
	default:
		return "naa.5" + digest(15, d.Model, d.Serial)
	}
}

func symlinksOf(d book.Disk, index int) []string {
	links := []string{"/dev/disk/by-path/" + strings.TrimPrefix(strings.ReplaceAll(diskBusPath(d, index), "/", "-"), "-")}

	if d.Serial != "" {
		name := transportOf(d) + "-" + d.Serial
		if d.Model != "" {
			name = transportOf(d) + "-" + strings.ReplaceAll(d.Model, " ", "_") + "_" + d.Serial
		}

		links = append(links, "/dev/disk/by-id/"+name)
	}

	if wwid := wwidOf(d); wwid != "" {
		links = append(links, "/dev/disk/by-id/wwn-0x"+wwid[strings.Index(wwid, ".")+1:])
	}

	slices.Sort(links)

	return links
}

// diskBusPath is where the disk would be plugged in: one controller for each disk, in declared order.
func diskBusPath(d book.Disk, index int) string {
	slot := fmt.Sprintf("/pci0000:00/0000:00:%02x.0", 0x10+index)

	switch transportOf(d) {
	case "nvme":
		return slot + "/nvme"
	case "virtio":
		return slot + fmt.Sprintf("/virtio%d", index)
	case "usb":
		return slot + "/usb1/1-1/1-1:1.0/host0/target0:0:0/0:0:0:0"
	default:
		return slot + fmt.Sprintf("/ata%d/host%d/target%d:0:0/%d:0:0:0", index+1, index, index, index)
	}
}

func devicePath(d book.Disk, index int) string {
	return diskBusPath(d, index) + "/block/" + path.Base(d.Device)
}

// majorOf is the kernel's number of the driver.
func majorOf(d book.Disk) int {
	switch transportOf(d) {
	case "nvme":
		return 259
	case "virtio":
		return 253
	case "mmc":
		return 179
	default:
		return 8
	}
}
