package machined

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"firstlight.dev/lab/machine/internal/journal"
)

// Dmesg is the kernel's ring buffer since the boot.
func (s *Server) Dmesg(in *machineapi.DmesgRequest, out machineapi.MachineService_DmesgServer) error {
	lines := -1
	if in.Tail {
		lines = 0
	}

	return s.m.Journal.Read(out.Context(), journal.Kernel, lines, in.Follow, func(line []byte) error {
		return out.Send(&common.Data{Bytes: line})
	})
}

// Logs is what a service said since the boot.
func (s *Server) Logs(in *machineapi.LogsRequest, out machineapi.MachineService_LogsServer) error {
	if !s.m.Journal.Has(in.Id) && !s.m.Services.Has(in.Id) {
		return status.Errorf(codes.NotFound, "log %q was not registered", in.Id)
	}

	return s.m.Journal.Read(out.Context(), in.Id, int(in.TailLines), in.Follow, func(line []byte) error {
		return out.Send(&common.Data{Bytes: line})
	})
}

// LogsContainers is which logs there are.
func (s *Server) LogsContainers(context.Context, *emptypb.Empty) (*machineapi.LogsContainersResponse, error) {
	ids := &machineapi.LogsContainer{Ids: s.m.Journal.IDs()}

	return &machineapi.LogsContainersResponse{Messages: []*machineapi.LogsContainer{ids}}, nil
}

// Events streams what happens.
func (s *Server) Events(in *machineapi.EventsRequest, out machineapi.MachineService_EventsServer) error {
	// An empty event says that the stream has begun: clients wait for it before they act.
	if err := out.Send(&machineapi.Event{ActorId: in.WithActorId, Data: &anypb.Any{}}); err != nil {
		return err
	}

	return s.m.Events.Watch(out.Context(), in, out.Send)
}

// Read hands out the few files that clients ask machines for, and nothing of the computer that runs the lab.
func (s *Server) Read(in *machineapi.ReadRequest, out machineapi.MachineService_ReadServer) error {
	content, ok := map[string]string{
		"/proc/sys/kernel/random/boot_id": s.m.BootID + "\n",
		"/etc/os-release":                 "NAME=\"Talos\"\nID=talos\nVERSION_ID=" + s.m.Version + "\nPRETTY_NAME=\"Talos (" + s.m.Version + ")\"\n",
	}[in.GetPath()]
	if !ok {
		return status.Errorf(codes.NotFound, "stat %s: no such file or directory", in.GetPath())
	}

	return out.Send(&common.Data{Bytes: []byte(content)})
}
