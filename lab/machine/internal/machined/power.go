package machined

import (
	"context"
	"errors"
	"fmt"
	"slices"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"firstlight.dev/lab/machine/internal/machine"
)

// partitions can be wiped one by one.
var partitions = []string{"EPHEMERAL", "META", "STATE"}

// Reboot ends this life and begins the next.
func (s *Server) Reboot(_ context.Context, in *machineapi.RebootRequest) (*machineapi.RebootResponse, error) {
	actor := s.m.Reboot(in.GetMode())
	s.m.Journal.Printf("reboot via API received. actor id: %s", actor)

	return &machineapi.RebootResponse{Messages: []*machineapi.Reboot{{ActorId: actor}}}, nil
}

// Shutdown switches the machine off.
func (s *Server) Shutdown(_ context.Context, in *machineapi.ShutdownRequest) (*machineapi.ShutdownResponse, error) {
	actor := s.m.Shutdown(in.GetForce())
	s.m.Journal.Printf("shutdown via API received. actor id: %s", actor)

	return &machineapi.ShutdownResponse{Messages: []*machineapi.Shutdown{{ActorId: actor}}}, nil
}

// Rollback boots the version that was there before the last upgrade.
func (s *Server) Rollback(context.Context, *machineapi.RollbackRequest) (*machineapi.RollbackResponse, error) {
	s.m.Journal.Printf("rollback via API received")

	if !s.m.IsInstalled() {
		return nil, status.Error(codes.FailedPrecondition, "system disk not found")
	}

	done, err := s.m.Rollback()
	if err == nil && !done {
		err = errors.New("previous UKI/boot entry was not found")
	}

	return &machineapi.RollbackResponse{Messages: []*machineapi.Rollback{{}}}, err
}

// Reset wipes what the request says.
func (s *Server) Reset(_ context.Context, in *machineapi.ResetRequest) (*machineapi.ResetResponse, error) {
	wipe := machine.Wipe{Disks: in.GetUserDisksToWipe()}

	if err := s.checkUserDisks(in); err != nil {
		return nil, err
	}

	if in.Mode == machineapi.ResetRequest_USER_DISKS && len(in.GetSystemPartitionsToWipe()) > 0 {
		return nil, errors.New(
			"reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter")
	}

	for _, spec := range in.GetSystemPartitionsToWipe() {
		if !slices.Contains(partitions, spec.Label) {
			return nil, fmt.Errorf(
				"failed to get volume status with label %q: resource VolumeStatuses.block.talos.dev(runtime/%s@undefined) doesn't exist",
				spec.Label, spec.Label)
		}

		if spec.Wipe {
			wipe.Labels = append(wipe.Labels, spec.Label)
		}
	}

	wipe.System = in.Mode != machineapi.ResetRequest_USER_DISKS && len(in.GetSystemPartitionsToWipe()) == 0

	actor := s.m.Reset(in.GetGraceful(), in.GetReboot(), wipe)
	s.m.Journal.Printf("reset request received. actorID: %s", actor)

	return &machineapi.ResetResponse{Messages: []*machineapi.Reset{{ActorId: actor}}}, nil
}

func (s *Server) checkUserDisks(in *machineapi.ResetRequest) error {
	if len(in.GetUserDisksToWipe()) > 0 && in.Mode == machineapi.ResetRequest_SYSTEM_DISK {
		return errors.New("reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter")
	}

	meta, err := s.m.Disk.Meta()
	if err != nil {
		return err
	}

	for _, device := range in.GetUserDisksToWipe() {
		found := false

		for _, disk := range s.m.Hardware.Disks {
			if disk.Device != device {
				continue
			}

			found = true

			if disk.ReadOnly {
				return fmt.Errorf("reset user disk failed: device %s is readonly", device)
			}
		}

		switch {
		case !found:
			return fmt.Errorf("reset user disk failed: device %s wasn't found", device)
		case device == meta.Installed:
			return fmt.Errorf("reset user disk failed: device %s is the system disk", device)
		}
	}

	return nil
}

// Upgrade is the upgrade of Talos before 1.13: install, then reboot.
func (s *Server) Upgrade(ctx context.Context, in *machineapi.UpgradeRequest) (*machineapi.UpgradeResponse, error) {
	if !s.m.IsInstalled() {
		return nil, status.Errorf(codes.FailedPrecondition, "Talos is not installed")
	}

	s.m.Journal.Printf("upgrade request received: staged %v, force %v", in.GetStage(), in.GetForce())

	if _, err := machine.ImageVersion(in.GetImage()); err != nil {
		return nil, fmt.Errorf("error validating installer image %q: %w", in.GetImage(), err)
	}

	if s.requireControlPlane("upgrade") == nil && !in.GetForce() {
		if err := s.m.Etcd().ValidateForUpgrade(ctx); err != nil {
			return nil, fmt.Errorf("error validating etcd for upgrade: %w", err)
		}
	}

	actor := s.m.UpgradeAndReboot(in.GetImage(), in.GetStage())

	return &machineapi.UpgradeResponse{
		Messages: []*machineapi.Upgrade{{Ack: "Upgrade request received", ActorId: actor}},
	}, nil
}

// ServiceList is every service with what happened to it.
func (s *Server) ServiceList(context.Context, *emptypb.Empty) (*machineapi.ServiceListResponse, error) {
	list := &machineapi.ServiceList{Services: s.m.Services.List()}

	return &machineapi.ServiceListResponse{Messages: []*machineapi.ServiceList{list}}, nil
}

// ServiceStart starts a service.
func (s *Server) ServiceStart(
	_ context.Context, in *machineapi.ServiceStartRequest,
) (*machineapi.ServiceStartResponse, error) {
	if err := s.m.ServiceAction(in.Id, "start"); err != nil {
		return nil, err
	}

	said := fmt.Sprintf("Service %q started", in.Id)

	return &machineapi.ServiceStartResponse{Messages: []*machineapi.ServiceStart{{Resp: said}}}, nil
}

// ServiceStop stops a service.
func (s *Server) ServiceStop(
	_ context.Context, in *machineapi.ServiceStopRequest,
) (*machineapi.ServiceStopResponse, error) {
	if err := s.m.ServiceAction(in.Id, "stop"); err != nil {
		return nil, err
	}

	said := fmt.Sprintf("Service %q stopped", in.Id)

	return &machineapi.ServiceStopResponse{Messages: []*machineapi.ServiceStop{{Resp: said}}}, nil
}

// ServiceRestart restarts a service.
func (s *Server) ServiceRestart(
	_ context.Context, in *machineapi.ServiceRestartRequest,
) (*machineapi.ServiceRestartResponse, error) {
	if err := s.m.ServiceAction(in.Id, "restart"); err != nil {
		return nil, err
	}

	said := fmt.Sprintf("Service %q restarted", in.Id)

	return &machineapi.ServiceRestartResponse{Messages: []*machineapi.ServiceRestart{{Resp: said}}}, nil
}
