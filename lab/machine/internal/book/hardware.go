package book

import (
	"encoding/json"
	"fmt"
	"os"
)

// Disk is a disk that the machine says it has.
type Disk struct {
	Device     string `json:"device"` // /dev/sda
	Size       uint64 `json:"size"`
	Model      string `json:"model,omitempty"`
	Serial     string `json:"serial,omitempty"`
	Transport  string `json:"transport,omitempty"` // sata, nvme, usb, virtio
	Rotational bool   `json:"rotational,omitempty"`
	ReadOnly   bool   `json:"readonly,omitempty"`
}

// Link is a network interface that the machine says it has.
type Link struct {
	Name string `json:"name"`
	MAC  string `json:"mac"`
	Up   bool   `json:"up"`
	// Speed in megabits.
	Speed uint32 `json:"speed,omitempty"`
}

// Hardware is what the machine is made of, and how it behaves.
type Hardware struct {
	Name     string `json:"name"`
	UUID     string `json:"uuid"`
	Loopback string `json:"loopback"`
	// Address is the declared one, on the first link that is up, with Prefix bits of network and a Gateway.
	Address string `json:"address"`
	Prefix  int    `json:"prefix"`
	Gateway string `json:"gateway"`

	CPUs   int    `json:"cpus"`
	Memory uint64 `json:"memory"` // bytes
	Disks  []Disk `json:"disks"`
	Links  []Link `json:"links"`

	// Talos is the version on the boot medium, such as v1.13.0: what the machine runs until it is installed.
	Talos string `json:"talos"`
	// Kubernetes is the version of the lab's own control plane, such as v1.36.3.
	Kubernetes string `json:"kubernetes"`
	// BootSeconds is how long a boot takes.
	BootSeconds float64 `json:"bootSeconds"`
	// ManifestMode is "1.12" (create only) or "1.13" (server-side apply with an inventory).
	ManifestMode string `json:"manifestMode"`
	// EmptyInventory reproduces a defect of Talos 1.13.0: a pass over the manifests that ends early, for instance by a
	// connection error, writes an empty inventory.
	EmptyInventory bool `json:"emptyInventory,omitempty"`
}

// LoadHardware reads the hardware file of a machine.
func LoadHardware(path string) (*Hardware, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	var h Hardware
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return &h, nil
}
