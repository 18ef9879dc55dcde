package resources

import (
	"fmt"
	"path"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/imager/quirks"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"

	"firstlight.dev/lab/machine/internal/book"
)

const (
	mib = 1 << 20

	efiPartitionType   = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
	linuxPartitionType = "0fc63daf-8483-4772-8e79-3d69d8477de4"
)

// partition is one of those that an installed machine has on its system disk.
type partition struct {
	label, kind, filesystem string
	offset, size            uint64
	index                   int
}

// partitionsOf lays a disk out as the installer does for machines that boot by UEFI: EFI, META, STATE, and the rest is
// EPHEMERAL.
func partitionsOf(disk book.Disk) []partition {
	sizes := quirks.New("").PartitionSizes()

	out := []partition{
		{label: constants.EFIPartitionLabel, kind: efiPartitionType, filesystem: "vfat", size: sizes.UKIEFISize()},
		{label: constants.MetaPartitionLabel, kind: linuxPartitionType, filesystem: "talosmeta", size: sizes.METASize()},
		{label: constants.StatePartitionLabel, kind: linuxPartitionType, filesystem: "xfs", size: sizes.StateSize()},
		{label: constants.EphemeralPartitionLabel, kind: linuxPartitionType, filesystem: "xfs"},
	}

	offset := uint64(mib)

	for i := range out {
		out[i].index = i + 1
		out[i].offset = offset
		offset += out[i].size
	}

	// The second copy of the partition table takes the last MiB.
	if last := &out[len(out)-1]; disk.Size > offset+mib {
		last.size = (disk.Size - offset - mib) / mib * mib
	}

	return out
}

func partitionName(disk string, index int) string {
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		return fmt.Sprintf("%sp%d", disk, index)
	}

	return fmt.Sprintf("%s%d", disk, index)
}

// volumes are what is found on the disks, and what Talos made of it.
func volumes(f *facts) ([]owned, error) {
	out := []owned{
		of("block.DiscoveryController", block.NewDiscoveryRefreshStatus(block.NamespaceName, block.RefreshID),
			block.DiscoveryRefreshStatusSpec{Request: 1}),
	}

	systemDisk := slices.IndexFunc(f.hardware.Disks, func(d book.Disk) bool {
		return f.installed != "" && d.Device == f.installed
	})

	for i, d := range f.hardware.Disks {
		name := ""
		if i == systemDisk {
			name = "gpt"
		}

		spec := block.DiscoveredVolumeSpec{
			DevPath:    d.Device,
			Type:       block.DeviceTypeDisk,
			DevicePath: devicePath(d, i),
			SectorSize: sectorSize,
			IOSize:     sectorSize,
			Name:       name,
		}
		spec.SetSize(d.Size)

		if name != "" {
			spec.UUID = uuidFrom(f.hardware.UUID, d.Device)
		}

		out = append(out, of("block.DiscoveryController",
			block.NewDiscoveredVolume(block.NamespaceName, path.Base(d.Device)), spec))
	}

	if systemDisk < 0 {
		// Before the installation nothing is there, and EPHEMERAL is not even looked for without a config.
		return append(out,
			volumeStatus(constants.MetaPartitionLabel, block.VolumeStatusSpec{Phase: block.VolumePhaseMissing}),
			volumeStatus(constants.StatePartitionLabel, block.VolumeStatusSpec{Phase: block.VolumePhaseMissing}),
		), nil
	}

	disk := f.hardware.Disks[systemDisk]
	id := path.Base(disk.Device)

	out = append(out, of("block.SystemDiskController", block.NewSystemDisk(block.NamespaceName, block.SystemDiskID),
		block.SystemDiskSpec{DiskID: id, DevPath: disk.Device}))

	for _, p := range partitionsOf(disk) {
		out = append(out, partitionResources(f, disk, systemDisk, p)...)
	}

	return out, nil
}

func partitionResources(f *facts, disk book.Disk, index int, p partition) []owned {
	parent := path.Base(disk.Device)
	id := partitionName(parent, p.index)
	location := "/dev/" + id
	filesystemID := uuidFrom(f.hardware.UUID, f.nodeID, p.label, "filesystem")
	partitionID := uuidFrom(f.hardware.UUID, disk.Device, p.label)

	found := block.DiscoveredVolumeSpec{
		DevPath:        location,
		Type:           block.DeviceTypePartition,
		DevicePath:     devicePath(disk, index) + "/" + id,
		Parent:         parent,
		ParentDevPath:  disk.Device,
		Offset:         p.offset,
		SectorSize:     sectorSize,
		IOSize:         sectorSize,
		Name:           p.filesystem,
		PartitionUUID:  partitionID,
		PartitionType:  p.kind,
		PartitionLabel: p.label,
		PartitionIndex: uint(p.index),
	}
	found.SetSize(p.size)

	if p.filesystem != "talosmeta" {
		found.UUID, found.Label, found.ProbedSize = filesystemID, p.label, p.size
		found.BlockSize, found.FilesystemBlockSize = sectorSize, 4096
	}

	out := []owned{
		of("block.DiscoveryController", block.NewDiscoveredVolume(block.NamespaceName, id), found),
		of("block.DevicesController", block.NewDevice(block.NamespaceName, id), block.DeviceSpec{
			Type:            block.DeviceTypePartition,
			Major:           majorOf(disk),
			Minor:           16*index + p.index,
			PartitionName:   p.label,
			PartitionNumber: p.index,
			DevicePath:      found.DevicePath,
			Generation:      1,
			Parent:          parent,
		}),
	}

	// EFI is no volume: it is mounted by the installer alone. EPHEMERAL is one only with a config.
	if p.label == constants.EFIPartitionLabel || p.label == constants.EphemeralPartitionLabel && !f.configured() {
		return out
	}

	status := block.VolumeStatusSpec{
		Phase:          block.VolumePhaseReady,
		Type:           block.VolumeTypePartition,
		Location:       location,
		MountLocation:  location,
		PartitionIndex: p.index,
		ParentLocation: disk.Device,
		UUID:           found.UUID,
		PartitionUUID:  partitionID,
	}
	status.SetSize(p.size)

	switch p.label {
	case constants.StatePartitionLabel:
		status.Filesystem = block.FilesystemTypeXFS
		status.MountSpec = block.MountSpec{
			TargetPath: constants.StateMountPoint, SelinuxLabel: constants.StateSelinuxLabel, FileMode: 0o700,
		}
	case constants.EphemeralPartitionLabel:
		status.Filesystem = block.FilesystemTypeXFS
		status.MountSpec = block.MountSpec{
			TargetPath:          constants.EphemeralMountPoint,
			SelinuxLabel:        constants.EphemeralSelinuxLabel,
			FileMode:            0o755,
			ProjectQuotaSupport: f.active.Machine().Features().DiskQuotaSupportEnabled(),
		}
	}

	return append(out, volumeStatus(p.label, status))
}

func volumeStatus(id string, spec block.VolumeStatusSpec) owned {
	r := of("block.VolumeManagerController", block.NewVolumeStatus(block.NamespaceName, id), spec)
	r.Metadata().Labels().Set(block.SystemVolumeLabel, "")

	return r
}
