package resources

import (
	"fmt"
	"strings"

	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/extensions"
	"github.com/siderolabs/talos/pkg/machinery/imager/quirks"
	"github.com/siderolabs/talos/pkg/machinery/kernel"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/version"
)

// Extension is a system extension.
type Extension struct {
	Name        string
	Version     string
	Author      string
	Description string
}

// runtimeState is what the running system tells about itself.
func runtimeState(f *facts) ([]owned, error) {
	out := []owned{
		of("runtime.VersionController", runtime.NewVersion(), runtime.VersionSpec{Name: version.Name, Version: f.talos}),
		of("runtime.MachineStatusController", runtime.NewMachineStatus(), f.stage),
		// The image boots by UEFI without Secure Boot, and SELinux only watches: a new machine with stock Talos 1.13.
		of("runtime.SecurityStateController", runtime.NewSecurityStateSpec(runtime.NamespaceName), runtime.SecurityStateSpec{
			SELinuxState:            runtime.SELinuxStatePermissive,
			FIPSState:               runtime.FIPSStateDisabled,
			BootedWithUKI:           true,
			ModuleSignatureEnforced: true,
		}),
		of("network.PlatformConfigApplyController",
			runtime.NewPlatformMetadataSpec(runtime.NamespaceName, runtime.PlatformMetadataID),
			runtime.PlatformMetadataSpec{Platform: constants.PlatformMetal, InstanceID: f.hardware.UUID}),
		of("runtime.DevicesStatusController", runtime.NewDevicesStatus(runtime.NamespaceName, runtime.DevicesID),
			runtime.DevicesStatusSpec{Ready: true}),
		of("", runtime.NewMetaLoaded(), runtime.MetaLoadedSpec{Done: true}),
		of("runtime.KernelCmdlineController", runtime.NewKernelCmdline(), runtime.KernelCmdlineSpec{Cmdline: cmdline(f.talos)}),
		apiService(f),
	}

	if f.installed != "" {
		out = append(out, of("runtime.BootedEntryController", runtime.NewBootedEntrySpec(),
			runtime.BootedEntrySpec{BootedEntry: fmt.Sprintf("Talos-%s.efi", f.talos)}))
	}

	if document := f.unattendedInstall(); document != nil {
		status := runtime.UnattendedInstallStatusSpec{Image: document.InstallerImage()}
		if status.Phase = runtime.UnattendedInstallPhaseInstalled; f.installed == "" {
			status.Phase, status.Error = runtime.UnattendedInstallPhasePending, "no disk matched the selector"
		}

		out = append(out, of("runtime.UnattendedInstallController", runtime.NewUnattendedInstallStatus(), status))
	}

	for tag, value := range f.meta {
		out = append(out, of("", runtime.NewMetaKey(runtime.NamespaceName, runtime.MetaKeyTagToID(tag)),
			runtime.MetaKeySpec{Value: value}))
	}

	for i, e := range f.extensions {
		out = append(out, of("runtime.ExtensionStatusController",
			runtime.NewExtensionStatus(runtime.NamespaceName, fmt.Sprint(i)),
			extensions.Layer{
				Image: fmt.Sprintf("%d.sqsh", i),
				Metadata: extensions.Metadata{
					Name: e.Name, Version: e.Version, Author: e.Author, Description: e.Description,
				},
			}))
	}

	return out, nil
}

// unattendedInstall is the document that has the machine install itself; nil if there is none.
func (f *facts) unattendedInstall() talosconfig.UnattendedInstallConfig {
	if f.active == nil {
		return nil
	}

	return f.active.UnattendedInstallConfig()
}

func cmdline(talos string) string {
	platform := constants.KernelParamPlatform + "=" + constants.PlatformMetal

	return strings.Join(append([]string{platform}, kernel.DefaultArgs(quirks.New(talos))...), " ")
}

// apiService is how apid listens: in maintenance it serves everybody, but lets them read only.
func apiService(f *facts) owned {
	open := !f.configured()

	return of("runtime.APIServiceConfigController", runtime.NewAPIServiceConfig(), runtime.APIServiceConfigSpec{
		ListenAddress:           fmt.Sprintf(":%d", constants.ApidPort),
		NodeRoutingDisabled:     open,
		ReadonlyRoleMode:        open,
		SkipVerifyingClientCert: open,
	})
}
