package machined

import (
	"context"
	"strings"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/api/storage"
	timeapi "github.com/siderolabs/talos/pkg/machinery/api/time"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Memory is what the machine is said to have, half of it free.
func (s *Server) Memory(context.Context, *emptypb.Empty) (*machineapi.MemoryResponse, error) {
	total := s.m.Hardware.Memory / 1024
	info := &machineapi.MemInfo{
		Memtotal: total, Memfree: total / 2, Memavailable: total / 2, Cached: total / 4, Buffers: total / 100,
	}

	return &machineapi.MemoryResponse{Messages: []*machineapi.Memory{{Meminfo: info}}}, nil
}

// Disks is the old way to ask for disks, which `talosctl reset` still uses to see whether a machine is in maintenance.
func (s *Server) Disks(context.Context, *emptypb.Empty) (*storage.DisksResponse, error) {
	meta, err := s.m.Disk.Meta()
	if err != nil {
		return nil, err
	}

	list := make([]*storage.Disk, 0, len(s.m.Hardware.Disks))

	for _, d := range s.m.Hardware.Disks {
		kind := storage.Disk_SSD

		switch {
		case d.Rotational:
			kind = storage.Disk_HDD
		case d.Transport == "nvme":
			kind = storage.Disk_NVME
		}

		list = append(list, &storage.Disk{
			DeviceName: d.Device, Size: d.Size, Model: d.Model, Serial: d.Serial, Type: kind, Readonly: d.ReadOnly,
			SystemDisk: d.Device == meta.Installed, Name: strings.TrimPrefix(d.Device, "/dev/"), Subsystem: "/sys/class/block",
		})
	}

	return &storage.DisksResponse{Messages: []*storage.Disks{{Disks: list}}}, nil
}

// Time compares the machine's clock with its time server: both are this computer's.
func (s *Server) Time(context.Context, *emptypb.Empty) (*timeapi.TimeResponse, error) {
	return s.TimeCheck(context.Background(), &timeapi.TimeRequest{Server: "time.cloudflare.com"})
}

// TimeCheck is Time for a given server.
func (s *Server) TimeCheck(_ context.Context, in *timeapi.TimeRequest) (*timeapi.TimeResponse, error) {
	now := timestamppb.New(time.Now())
	answer := &timeapi.Time{Server: in.GetServer(), Localtime: now, Remotetime: now}

	return &timeapi.TimeResponse{Messages: []*timeapi.Time{answer}}, nil
}

// MetaWrite keeps a value in the META partition.
func (s *Server) MetaWrite(_ context.Context, in *machineapi.MetaWriteRequest) (*machineapi.MetaWriteResponse, error) {
	if in.Key > 255 {
		return nil, status.Error(codes.InvalidArgument, "key must be a uint8")
	}

	err := s.m.WriteTag(uint8(in.Key), string(in.Value))

	return &machineapi.MetaWriteResponse{Messages: []*machineapi.MetaWrite{{}}}, err
}

// MetaDelete forgets a value of the META partition.
func (s *Server) MetaDelete(_ context.Context, in *machineapi.MetaDeleteRequest) (*machineapi.MetaDeleteResponse, error) {
	if in.Key > 255 {
		return nil, status.Error(codes.InvalidArgument, "key must be a uint8")
	}

	found, err := s.m.DeleteTag(uint8(in.Key))
	if err == nil && !found {
		return nil, status.Error(codes.NotFound, "key not found")
	}

	return &machineapi.MetaDeleteResponse{Messages: []*machineapi.MetaDelete{{}}}, err
}
