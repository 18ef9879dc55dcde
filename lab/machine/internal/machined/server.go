// Package machined is the API of a machine: the services behind apid, each call turned into what the machine does.
//
// Calls that make no sense without a kernel (packet captures, processes of containers, block device wiping) answer
// Unimplemented, as a machine does that is too old for them.
package machined

import (
	"context"
	"sync"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/api/cluster"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/api/storage"
	timeapi "github.com/siderolabs/talos/pkg/machinery/api/time"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	configmachine "github.com/siderolabs/talos/pkg/machinery/config/machine"

	"firstlight.dev/lab/machine/internal/machine"
)

// Server answers for one machine.
type Server struct {
	machineapi.UnimplementedMachineServiceServer
	cluster.UnimplementedClusterServiceServer
	storage.UnimplementedStorageServiceServer
	timeapi.UnimplementedTimeServiceServer

	m        *machine.Machine
	applying sync.Mutex
}

// Register adds the services of a machine to a server.
func Register(s *grpc.Server, m *machine.Machine) {
	server := &Server{m: m}

	machineapi.RegisterMachineServiceServer(s, server)
	machineapi.RegisterImageServiceServer(s, images{m: m})
	machineapi.RegisterLifecycleServiceServer(s, &lifecycle{m: m})
	cluster.RegisterClusterServiceServer(s, server)
	storage.RegisterStorageServiceServer(s, server)
	timeapi.RegisterTimeServiceServer(s, server)
	cosi.RegisterStateServer(s, m.Resources.Server())
}

// Version is what runs.
func (s *Server) Version(context.Context, *emptypb.Empty) (*machineapi.VersionResponse, error) {
	answer := &machineapi.Version{
		Version:  &machineapi.VersionInfo{Tag: s.m.Version, Sha: "firstlight-lab", Os: "linux", Arch: "amd64"},
		Platform: &machineapi.PlatformInfo{Name: "metal", Mode: "metal"},
	}

	if s.m.Config() != nil {
		answer.Features = &machineapi.FeaturesInfo{Rbac: true}
	}

	return &machineapi.VersionResponse{Messages: []*machineapi.Version{answer}}, nil
}

// Hostname is the machine's name.
func (s *Server) Hostname(context.Context, *emptypb.Empty) (*machineapi.HostnameResponse, error) {
	return &machineapi.HostnameResponse{Messages: []*machineapi.Hostname{{Hostname: s.m.Hostname()}}}, nil
}

// requireControlPlane refuses what only control planes can do, in Talos's words.
func (s *Server) requireControlPlane(what string) error {
	cfg := s.m.Config()

	switch {
	case cfg == nil:
		return status.Errorf(codes.Unimplemented, "machine type is not set, cannot use %s API", what)
	case cfg.Machine().Type() == configmachine.TypeWorker:
		return status.Errorf(codes.Unimplemented, "%s is only available on control plane nodes", what)
	}

	return nil
}
