package machined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"firstlight.dev/lab/machine/internal/etcd"
)

// chunk is the size of the pieces in which a snapshot is sent.
const chunk = 64 << 10

// Bootstrap makes this machine the first member of an etcd cluster. Only its own data stands against that: Talos does
// not look whether another machine was bootstrapped, and neither does the lab.
func (s *Server) Bootstrap(ctx context.Context, in *machineapi.BootstrapRequest) (*machineapi.BootstrapResponse, error) {
	s.m.Journal.Printf("bootstrap request received")

	if s.m.Config() != nil && (s.m.Services.State("cri") != "Running" || !s.m.IsSettled()) {
		return nil, status.Error(codes.FailedPrecondition, "bootstrap is not available yet")
	}

	if err := s.requireControlPlane("bootstrap"); err != nil {
		return nil, err
	}

	if s.m.Config().Cluster().Etcd().CA() == nil {
		return nil, status.Error(codes.InvalidArgument, "etcd is not configured, bootstrap is not possible")
	}

	err := s.m.Bootstrap(ctx, in.GetRecoverEtcd(), in.GetRecoverSkipHashCheck())
	if errors.Is(err, etcd.ErrHasData) {
		return nil, status.Error(codes.AlreadyExists, err.Error())
	}

	return &machineapi.BootstrapResponse{Messages: []*machineapi.Bootstrap{{}}}, err
}

// EtcdRecover keeps an uploaded snapshot for the bootstrap that follows.
func (s *Server) EtcdRecover(in machineapi.MachineService_EtcdRecoverServer) error {
	if err := s.requireControlPlane("etcd recover"); err != nil {
		return err
	}

	file, err := os.OpenFile(s.m.Disk.Snapshot(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("error creating etcd recovery snapshot: %w", err)
	}

	if err := receive(in, file); err != nil {
		file.Close()
		os.Remove(file.Name())

		return err
	}

	if err := file.Close(); err != nil {
		return err
	}

	return in.SendAndClose(&machineapi.EtcdRecoverResponse{Messages: []*machineapi.EtcdRecover{{}}})
}

func receive(in machineapi.MachineService_EtcdRecoverServer, file *os.File) error {
	for {
		piece, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return file.Sync()
		}

		if err != nil {
			return err
		}

		if _, err := file.Write(piece.Bytes); err != nil {
			return fmt.Errorf("error writing snapshot: %w", err)
		}
	}
}

// EtcdSnapshot streams the database.
func (s *Server) EtcdSnapshot(_ *machineapi.EtcdSnapshotRequest, out machineapi.MachineService_EtcdSnapshotServer) error {
	if err := s.requireControlPlane("etcd snapshot"); err != nil {
		return err
	}

	stream, err := s.m.Etcd().Snapshot(out.Context())
	if err != nil {
		return fmt.Errorf("failed reading etcd snapshot: %w", err)
	}
	defer stream.Close()

	for buffer := make([]byte, chunk); ; {
		n, err := stream.Read(buffer)
		if n > 0 {
			if err := out.Send(&common.Data{Bytes: buffer[:n]}); err != nil {
				return err
			}
		}

		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}
	}
}

// EtcdMemberList is who is in the cluster.
func (s *Server) EtcdMemberList(
	ctx context.Context, in *machineapi.EtcdMemberListRequest,
) (*machineapi.EtcdMemberListResponse, error) {
	if err := s.requireControlPlane("member list"); err != nil {
		return nil, err
	}

	members, err := s.m.Etcd().MemberList(ctx, in.GetQueryLocal())
	if err != nil {
		return nil, err
	}

	answer := &machineapi.EtcdMembers{Members: members}
	for _, member := range members {
		answer.LegacyMembers = append(answer.LegacyMembers, member.Hostname)
	}

	return &machineapi.EtcdMemberListResponse{Messages: []*machineapi.EtcdMembers{answer}}, nil
}

// EtcdStatus is what the local member says of itself.
func (s *Server) EtcdStatus(ctx context.Context, _ *emptypb.Empty) (*machineapi.EtcdStatusResponse, error) {
	if err := s.requireControlPlane("etcd status"); err != nil {
		return nil, err
	}

	member, err := s.m.Etcd().MemberStatus(ctx)

	return &machineapi.EtcdStatusResponse{Messages: []*machineapi.EtcdStatus{{MemberStatus: member}}}, err
}

// EtcdRemoveMemberByID removes a member that cannot leave by itself.
func (s *Server) EtcdRemoveMemberByID(
	ctx context.Context, in *machineapi.EtcdRemoveMemberByIDRequest,
) (*machineapi.EtcdRemoveMemberByIDResponse, error) {
	if err := s.requireControlPlane("etcd remove member"); err != nil {
		return nil, err
	}

	err := s.m.Etcd().RemoveMemberByID(ctx, in.GetMemberId())

	return &machineapi.EtcdRemoveMemberByIDResponse{Messages: []*machineapi.EtcdRemoveMemberByID{{}}}, err
}

// EtcdLeaveCluster takes this machine's member out.
func (s *Server) EtcdLeaveCluster(
	ctx context.Context, _ *machineapi.EtcdLeaveClusterRequest,
) (*machineapi.EtcdLeaveClusterResponse, error) {
	if err := s.requireControlPlane("etcd leave"); err != nil {
		return nil, err
	}

	err := s.m.Etcd().Leave(ctx)

	return &machineapi.EtcdLeaveClusterResponse{Messages: []*machineapi.EtcdLeaveCluster{{}}}, err
}

// EtcdForfeitLeadership has another member lead.
func (s *Server) EtcdForfeitLeadership(
	ctx context.Context, _ *machineapi.EtcdForfeitLeadershipRequest,
) (*machineapi.EtcdForfeitLeadershipResponse, error) {
	if err := s.requireControlPlane("etcd forfeit leadership"); err != nil {
		return nil, err
	}

	leader, err := s.m.Etcd().ForfeitLeadership(ctx)

	return &machineapi.EtcdForfeitLeadershipResponse{
		Messages: []*machineapi.EtcdForfeitLeadership{{Member: leader}},
	}, err
}

// EtcdAlarmList is what etcd complains of.
func (s *Server) EtcdAlarmList(ctx context.Context, _ *emptypb.Empty) (*machineapi.EtcdAlarmListResponse, error) {
	if err := s.requireControlPlane("etcd alarm list"); err != nil {
		return nil, err
	}

	alarms, err := s.m.Etcd().Alarms(ctx)

	return &machineapi.EtcdAlarmListResponse{Messages: []*machineapi.EtcdAlarm{{MemberAlarms: alarms}}}, err
}

// EtcdAlarmDisarm ends the complaints.
func (s *Server) EtcdAlarmDisarm(ctx context.Context, _ *emptypb.Empty) (*machineapi.EtcdAlarmDisarmResponse, error) {
	if err := s.requireControlPlane("etcd alarm list"); err != nil {
		return nil, err
	}

	alarms, err := s.m.Etcd().DisarmAlarms(ctx)

	return &machineapi.EtcdAlarmDisarmResponse{Messages: []*machineapi.EtcdAlarmDisarm{{MemberAlarms: alarms}}}, err
}

// EtcdDefragment shrinks the local database.
func (s *Server) EtcdDefragment(ctx context.Context, _ *emptypb.Empty) (*machineapi.EtcdDefragmentResponse, error) {
	if err := s.requireControlPlane("etcd defragment"); err != nil {
		return nil, err
	}

	err := s.m.Etcd().Defragment(ctx)

	return &machineapi.EtcdDefragmentResponse{Messages: []*machineapi.EtcdDefragment{{}}}, err
}

// EtcdDowngradeValidate asks whether the cluster could go back to a version.
func (s *Server) EtcdDowngradeValidate(
	ctx context.Context, in *machineapi.EtcdDowngradeValidateRequest,
) (*machineapi.EtcdDowngradeValidateResponse, error) {
	if err := s.requireControlPlane("etcd downgrade validate"); err != nil {
		return nil, err
	}

	version, err := s.m.Etcd().DowngradeValidate(ctx, in.GetVersion())
	answer := &machineapi.EtcdDowngradeValidate{ClusterDowngrade: &machineapi.EtcdClusterDowngrade{ClusterVersion: version}}

	return &machineapi.EtcdDowngradeValidateResponse{Messages: []*machineapi.EtcdDowngradeValidate{answer}}, err
}

// EtcdDowngradeEnable makes the cluster ready for a version.
func (s *Server) EtcdDowngradeEnable(
	ctx context.Context, in *machineapi.EtcdDowngradeEnableRequest,
) (*machineapi.EtcdDowngradeEnableResponse, error) {
	if err := s.requireControlPlane("etcd downgrade enable"); err != nil {
		return nil, err
	}

	version, err := s.m.Etcd().DowngradeEnable(ctx, in.GetVersion())
	answer := &machineapi.EtcdDowngradeEnable{ClusterDowngrade: &machineapi.EtcdClusterDowngrade{ClusterVersion: version}}

	return &machineapi.EtcdDowngradeEnableResponse{Messages: []*machineapi.EtcdDowngradeEnable{answer}}, err
}

// EtcdDowngradeCancel takes that back.
func (s *Server) EtcdDowngradeCancel(
	ctx context.Context, _ *emptypb.Empty,
) (*machineapi.EtcdDowngradeCancelResponse, error) {
	if err := s.requireControlPlane("etcd downgrade cancel"); err != nil {
		return nil, err
	}

	version, err := s.m.Etcd().DowngradeCancel(ctx)
	answer := &machineapi.EtcdDowngradeCancel{ClusterDowngrade: &machineapi.EtcdClusterDowngrade{ClusterVersion: version}}

	return &machineapi.EtcdDowngradeCancelResponse{Messages: []*machineapi.EtcdDowngradeCancel{answer}}, err
}
