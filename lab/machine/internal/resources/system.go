package resources

import (
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/perf"
)

// system is what firmware tells about the machine, and how its memory is used.
func system(f *facts) ([]owned, error) {
	const owner = "hardware.SystemInfoController"

	hw := f.hardware

	// A tenth of the memory is always in use: nothing runs here whose use could be measured.
	used := hw.Memory / 10

	return []owned{
		of(owner, hardware.NewSystemInformation(hardware.SystemInformationID), hardware.SystemInformationSpec{
			Manufacturer: "firstlight",
			ProductName:  "Virtual Talos machine",
			Version:      "lab",
			SerialNumber: hw.Name,
			UUID:         hw.UUID,
			WakeUpType:   "Power Switch",
		}),
		of(owner, hardware.NewProcessorInfo("CPU-0"), hardware.ProcessorSpec{
			Socket:       "CPU 0",
			Manufacturer: "firstlight",
			ProductName:  "Virtual CPU",
			MaxSpeed:     2000,
			BootSpeed:    2000,
			Status:       0x41, // populated and enabled
			CoreCount:    uint32(hw.CPUs),
			CoreEnabled:  uint32(hw.CPUs),
			ThreadCount:  uint32(hw.CPUs),
		}),
		of(owner, hardware.NewMemoryModuleInfo("DIMM-0"), hardware.MemoryModuleSpec{
			Size:          uint32(hw.Memory / mib),
			DeviceLocator: "DIMM 0",
			Manufacturer:  "firstlight",
		}),
		// In KiB, as /proc/meminfo.
		of("perf.StatsController", perf.NewMemory(), perf.MemorySpec{
			MemTotal:     hw.Memory / 1024,
			MemUsed:      used / 1024,
			MemAvailable: (hw.Memory - used) / 1024,
		}),
	}, nil
}
