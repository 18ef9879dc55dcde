package machined

import (
	"context"
	"sync"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"firstlight.dev/lab/machine/internal/machine"
)

// images pretends to pull: the lab has no registry, and what matters of an installer image is its version.
type images struct {
	machineapi.UnimplementedImageServiceServer

	m *machine.Machine
}

// Pull says that an image is there.
func (s images) Pull(
	in *machineapi.ImageServicePullRequest, out grpc.ServerStreamingServer[machineapi.ImageServicePullResponse],
) error {
	if in.GetImageRef() == "" {
		return status.Error(codes.InvalidArgument, "image reference is required")
	}

	s.m.Journal.Printf("pulling %s (simulated)", in.GetImageRef())

	return out.Send(&machineapi.ImageServicePullResponse{
		Response: &machineapi.ImageServicePullResponse_Name{Name: in.GetImageRef()},
	})
}

// ImagePull is the older way to ask for an image, which `talosctl upgrade-k8s` uses.
func (s *Server) ImagePull(_ context.Context, in *machineapi.ImagePullRequest) (*machineapi.ImagePullResponse, error) {
	s.m.Journal.Printf("pulling %s (simulated)", in.GetReference())

	return &machineapi.ImagePullResponse{Messages: []*machineapi.ImagePull{{}}}, nil
}

// lifecycle is the upgrade of Talos 1.13: installed by one call, booted by another.
type lifecycle struct {
	machineapi.UnimplementedLifecycleServiceServer

	m    *machine.Machine
	busy sync.Mutex
}

// Upgrade installs an image beside the running version.
func (s *lifecycle) Upgrade(
	in *machineapi.LifecycleServiceUpgradeRequest,
	out grpc.ServerStreamingServer[machineapi.LifecycleServiceUpgradeResponse],
) error {
	if !s.busy.TryLock() {
		return status.Error(codes.FailedPrecondition, "another installation/upgrade is already in progress")
	}
	defer s.busy.Unlock()

	if !s.m.IsInstalled() {
		return status.Error(codes.FailedPrecondition, "machine is not installed")
	}

	image := in.GetSource().GetImageName()
	if image == "" {
		return status.Error(codes.InvalidArgument, "installer image name is required")
	}

	send := func(progress *machineapi.LifecycleServiceInstallProgress) error {
		return out.Send(&machineapi.LifecycleServiceUpgradeResponse{Progress: progress})
	}

	if err := send(message("installing " + image + " (simulated)")); err != nil {
		return err
	}

	if err := s.m.Upgrade(image); err != nil {
		return status.Errorf(codes.Internal, "upgrade failed: %s", err)
	}

	return send(&machineapi.LifecycleServiceInstallProgress{
		Response: &machineapi.LifecycleServiceInstallProgress_ExitCode{ExitCode: 0},
	})
}

func message(text string) *machineapi.LifecycleServiceInstallProgress {
	return &machineapi.LifecycleServiceInstallProgress{
		Response: &machineapi.LifecycleServiceInstallProgress_Message{Message: text},
	}
}
