package machined

import (
	"context"
	"fmt"
	"strings"

	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// metal is the mode in which configs are validated: a machine with disks, which needs an installation once.
type metal struct{ installed bool }

func (metal) String() string          { return "metal" }
func (m metal) RequiresInstall() bool { return !m.installed }
func (metal) InContainer() bool       { return false }

const (
	withReboot    = "Applied configuration with a reboot"
	withoutReboot = "Applied configuration without a reboot"
)

// ApplyConfiguration validates a config and does with it what the mode says.
func (s *Server) ApplyConfiguration(
	ctx context.Context, in *machineapi.ApplyConfigurationRequest,
) (*machineapi.ApplyConfigurationResponse, error) {
	if !s.applying.TryLock() {
		return nil, status.Error(codes.FailedPrecondition, "another apply configuration is already in progress")
	}
	defer s.applying.Unlock()

	inMaintenance := s.m.Config() == nil
	if !inMaintenance && !authz.GetRoles(ctx).Includes(role.Admin) {
		return nil, authz.ErrNotAuthorized
	}

	if !inMaintenance && !s.m.Does().AppliesByReboot && in.Mode == machineapi.ApplyConfigurationRequest_REBOOT { //nolint:staticcheck
		return nil, status.Error(codes.Unimplemented,
			"the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead")
	}

	cfg, warnings, err := s.validate(ctx, in.GetData())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	asked := in.Mode

	mode, details, err := s.resolve(in.Mode, cfg)
	if err != nil {
		return nil, err
	}

	answer := &machineapi.ApplyConfiguration{Mode: mode, Warnings: warnings, ModeDetails: details}
	reply := &machineapi.ApplyConfigurationResponse{Messages: []*machineapi.ApplyConfiguration{answer}}

	if in.DryRun {
		diff, err := s.diff(cfg)
		if err != nil {
			return nil, err
		}

		answer.Warnings = nil
		headline, _, _ := strings.Cut(details, ":")
		answer.ModeDetails = fmt.Sprintf("Dry run summary:\n%s (skipped in dry-run).\n%s", headline, diff)

		return reply, nil
	}

	s.m.Journal.Printf("apply config request: mode %s", modeWords(asked, mode))

	if mode == machineapi.ApplyConfigurationRequest_TRY {
		limit := constants.ConfigTryTimeout
		if in.TryModeTimeout != nil {
			limit = in.TryModeTimeout.AsDuration()
		}

		answer.ModeDetails += fmt.Sprintf(
			"\nThe config is applied in 'try' mode and will be automatically reverted back in %s", limit)

		return reply, s.m.Try(cfg, limit)
	}

	s.m.KeepTried()

	if err := s.m.Persist(cfg); err != nil {
		return nil, err
	}

	switch mode { //nolint:exhaustive
	case machineapi.ApplyConfigurationRequest_NO_REBOOT:
		err = s.m.Activate(cfg)
	case machineapi.ApplyConfigurationRequest_REBOOT:
		s.m.Reboot(machineapi.RebootRequest_DEFAULT)
	}

	return reply, err
}

func (s *Server) validate(ctx context.Context, data []byte) (config.Provider, []string, error) {
	cfg, err := s.m.Does().Load(data)
	if err != nil {
		return nil, nil, err
	}

	if s.m.Config() != nil && cfg.RawV1Alpha1() == nil {
		return nil, nil, fmt.Errorf("the applied machine configuration doesn't contain v1alpha1 config, " +
			"did you mean to patch the machine config instead?")
	}

	mode := metal{installed: s.m.IsInstalled()}

	if err := s.m.Does().Refuse(cfg, mode.RequiresInstall(), s.m.Version); err != nil {
		return nil, nil, err
	}

	warnings, err := cfg.ValidateAtRuntime(ctx, s.m.Resources.State(), mode)

	return cfg, warnings, err
}

// resolve is the mode that a request comes to, and what the answer says of it.
func (s *Server) resolve(
	mode machineapi.ApplyConfigurationRequest_Mode, cfg config.Provider,
) (machineapi.ApplyConfigurationRequest_Mode, string, error) {
	inMaintenance := s.m.Config() == nil
	if inMaintenance && mode == machineapi.ApplyConfigurationRequest_REBOOT {
		mode = machineapi.ApplyConfigurationRequest_NO_REBOOT
	}

	var obstacle error
	if !inMaintenance {
		obstacle = s.m.NeedsReboot(cfg)
	}

	switch mode {
	case machineapi.ApplyConfigurationRequest_TRY, machineapi.ApplyConfigurationRequest_NO_REBOOT:
		if obstacle != nil {
			return mode, "", status.Error(codes.InvalidArgument, obstacle.Error())
		}

		return mode, withoutReboot, nil
	case machineapi.ApplyConfigurationRequest_STAGED:
		return mode, "Staged configuration to be applied after the next reboot", nil
	case machineapi.ApplyConfigurationRequest_AUTO:
		if obstacle != nil {
			return machineapi.ApplyConfigurationRequest_REBOOT, withReboot + ": " + obstacle.Error(), nil
		}

		return machineapi.ApplyConfigurationRequest_NO_REBOOT, withoutReboot, nil
	case machineapi.ApplyConfigurationRequest_REBOOT:
		return mode, withReboot, nil
	default:
		return mode, "", fmt.Errorf("incorrect mode '%s' specified for the apply config call", mode)
	}
}

func (s *Server) diff(cfg config.Provider) (string, error) {
	var active config.Container
	if now := s.m.Config(); now != nil {
		active = now
	}

	text, err := configdiff.DiffConfigs(active, cfg)
	if err != nil {
		return "", fmt.Errorf("failed to generate diff: %w", err)
	}

	if text == "" {
		text = "No changes."
	}

	return "Config diff:\n\n" + text, nil
}

func modeWords(asked, mode machineapi.ApplyConfigurationRequest_Mode) string {
	if asked == machineapi.ApplyConfigurationRequest_AUTO {
		return strings.ToLower(fmt.Sprintf("%s(%s)", asked, mode))
	}

	return strings.ToLower(mode.String())
}
