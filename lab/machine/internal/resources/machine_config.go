package resources

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	resconfig "github.com/siderolabs/talos/pkg/machinery/resources/config"
)

// frozen is a config that nobody changes any more. One that was built in memory is read again from its own text, since
// it would be copied and encoded at every look.
func frozen(cfg config.Provider) (config.Provider, error) {
	if cfg == nil || cfg.Readonly() {
		return cfg, nil
	}

	text, err := cfg.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode config: %w", err)
	}

	return configloader.NewFromBytes(text)
}

// machineConfig is the config that is applied and the one that is kept. The type of machine is there without either.
func machineConfig(f *facts) ([]owned, error) {
	kind := resconfig.NewMachineType()
	if f.active != nil && f.active.Machine() != nil {
		kind.SetMachineType(f.active.Machine().Type())
	}

	out := []owned{{Resource: kind, owner: "config.MachineTypeController"}}

	if f.active != nil {
		out = append(out, owned{Resource: resconfig.NewMachineConfigWithID(f.active, resconfig.ActiveID)})
	}

	if f.persistent != nil {
		out = append(out, owned{Resource: resconfig.NewMachineConfigWithID(f.persistent, resconfig.PersistentID)})
	}

	return out, nil
}
