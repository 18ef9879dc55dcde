package resources_test

import (
	"context"
	"errors"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/validation"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/imager/quirks"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/siderolabs/talos/pkg/minimal"

	"firstlight.dev/lab/machine/internal/resources"
)

func TestInstallDisk(t *testing.T) {
	m := newMachine(t)

	for name, test := range map[string]struct {
		patch, want string
		err         error
	}{
		"by path":            {"machine: {install: {disk: /dev/sda}}", "/dev/sda", nil},
		"by link":            {"machine: {install: {disk: /dev/disk/by-id/nvme-Fast_Disk_N123}}", "/dev/nvme0n1", nil},
		"by size":            {"machine: {install: {disk: '', diskSelector: {size: '> 1TB'}}}", "/dev/sda", nil},
		"by model":           {"machine: {install: {diskSelector: {model: 'Fast*'}}}", "/dev/nvme0n1", nil},
		"by type":            {"machine: {install: {diskSelector: {type: hdd}}}", "/dev/sda", nil},
		"a path that is not": {"machine: {install: {disk: /dev/sdz}}", "", resources.ErrNoDisk},
		"none matches":       {"machine: {install: {diskSelector: {size: '> 9TB'}}}", "", resources.ErrNoDisk},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := generated(t, machine.TypeWorker, test.patch)

			got, err := m.InstallDisk(cfg)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

type metal struct{}

func (metal) String() string        { return "metal" }
func (metal) RequiresInstall() bool { return true }
func (metal) InContainer() bool     { return false }

var _ validation.RuntimeMode = metal{}

// The machinery looks for disks itself when a config is applied.
func TestTheMachineryFindsTheDisks(t *testing.T) {
	m := newMachine(t)

	_, err := generated(t, machine.TypeWorker, "machine: {install: {diskSelector: {size: '> 1TB'}}}").RuntimeValidate(context.Background(), m.State(), metal{})
	must(t, err)

	_, err = generated(t, machine.TypeWorker, "machine: {install: {diskSelector: {size: '> 9TB'}}}").RuntimeValidate(context.Background(), m.State(), metal{})
	if err == nil {
		t.Error("it found a disk that is not there")
	}
}

func TestVolumesOfAnInstalledMachine(t *testing.T) {
	m := newMachine(t)
	must(t, m.SetInstalled("/dev/nvme0n1"))

	st := m.State()

	if there[*block.VolumeStatus](t, st, constants.EphemeralPartitionLabel) {
		t.Error("EPHEMERAL without a config")
	}

	must(t, m.SetConfig(generated(t, machine.TypeWorker, named)))

	if got := get[*block.SystemDisk](t, st, block.SystemDiskID).TypedSpec(); got.DiskID != "nvme0n1" || got.DevPath != "/dev/nvme0n1" {
		t.Errorf("system disk %+v", got)
	}

	ephemeral := get[*block.VolumeStatus](t, st, constants.EphemeralPartitionLabel).TypedSpec()
	if ephemeral.Phase != block.VolumePhaseReady || ephemeral.Location != "/dev/nvme0n1p4" {
		t.Errorf("EPHEMERAL %+v", ephemeral)
	}

	// The rule of `talosctl health`.
	sizes := quirks.New("").PartitionSizes()
	if enough := minimal.DiskSize() - (sizes.UKIEFISize() + sizes.StateSize() + sizes.METASize() + 10<<20); ephemeral.Size < enough {
		t.Errorf("EPHEMERAL has %d bytes, health wants %d", ephemeral.Size, enough)
	}

	var end uint64

	for _, id := range []string{"nvme0n1p1", "nvme0n1p2", "nvme0n1p3", "nvme0n1p4"} {
		p := get[*block.DiscoveredVolume](t, st, id).TypedSpec()
		if p.Offset < end {
			t.Errorf("%s overlaps the one before", id)
		}

		end = p.Offset + p.Size
	}

	if end > 64*gib {
		t.Error("the partitions are bigger than the disk")
	}

	must(t, m.SetInstalled(""))

	if there[*block.SystemDisk](t, st, block.SystemDiskID) || there[*block.DiscoveredVolume](t, st, "nvme0n1p1") {
		t.Error("a wiped disk has partitions")
	}

	if got := get[*block.VolumeStatus](t, st, constants.StatePartitionLabel).TypedSpec().Phase; got != block.VolumePhaseMissing {
		t.Errorf("STATE is %s", got)
	}
}

func TestOtherDisks(t *testing.T) {
	m := newMachine(t)

	hw := hardware()
	hw.Disks = hw.Disks[1:]
	must(t, m.SetHardware(hw))

	if there[*block.Disk](t, m.State(), "nvme0n1") || there[*block.DiscoveredVolume](t, m.State(), "nvme0n1") || !there[*block.Disk](t, m.State(), "sda") {
		t.Error("the disks are not those of the hardware")
	}
}
