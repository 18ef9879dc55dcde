package etcd

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// MemberStatus is what the local member says of itself; a learner answers too.
func (s *Service) MemberStatus(ctx context.Context) (*machine.EtcdMemberStatus, error) {
	var own *clientv3.StatusResponse
	err := s.local(ctx, callTimeout, func(ctx context.Context, client *clientv3.Client) (err error) {
		own, err = client.Status(ctx, s.opts.clientAddress())

		return err
	})
	if err != nil {
		return nil, err
	}
	storage := own.StorageVersion
	if parts := strings.Split(own.Version, "."); storage == "" && len(parts) == 3 {
		storage = parts[0] + "." + parts[1] + ".0" // etcd before 3.6 does not say
	}

	return &machine.EtcdMemberStatus{
		MemberId:         own.Header.MemberId,
		ProtocolVersion:  own.Version,
		StorageVersion:   storage,
		DbSize:           own.DbSize,
		DbSizeInUse:      own.DbSizeInUse,
		Leader:           own.Leader,
		RaftIndex:        own.RaftIndex,
		RaftTerm:         own.RaftTerm,
		RaftAppliedIndex: own.RaftAppliedIndex,
		Errors:           own.Errors,
		IsLearner:        own.IsLearner,
	}, nil
}

// MemberID is the id of the local member.
func (s *Service) MemberID(ctx context.Context) (uint64, error) {
	own, err := s.MemberStatus(ctx)
	if err != nil {
		return 0, err
	}

	return own.MemberId, nil
}

// Snapshot streams the database of the local member, with its hash at the end. The caller closes it. A stream that
// stands still is given up.
func (s *Service) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	if s.State().PID == 0 {
		return nil, ErrNotRunning
	}
	client, err := s.client(s.opts.clientAddress(), impatient...)
	if err != nil {
		return nil, err
	}
	stream := &snapshotStream{client: client}
	ctx, stream.cancel = context.WithCancelCause(ctx)
	stream.timer = time.AfterFunc(callTimeout, func() { stream.cancel(context.DeadlineExceeded) })

	answer, err := client.SnapshotWithVersion(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		stream.Close()

		return nil, s.explain(ctx, err)
	}
	stream.body = answer.Snapshot
	stream.timer.Reset(snapshotIdle)

	return stream, nil
}

const snapshotIdle = 30 * time.Second

type snapshotStream struct {
	client *clientv3.Client
	cancel context.CancelCauseFunc
	timer  *time.Timer
	body   io.ReadCloser
}

func (s *snapshotStream) Read(data []byte) (int, error) {
	s.timer.Reset(snapshotIdle)

	return s.body.Read(data)
}

func (s *snapshotStream) Close() error {
	s.timer.Stop()
	s.cancel(context.Canceled)
	if s.body != nil {
		s.body.Close()
	}

	return s.client.Close()
}

// Alarms of all members.
func (s *Service) Alarms(ctx context.Context) ([]*machine.EtcdMemberAlarm, error) {
	return s.alarms(ctx, func(ctx context.Context, client *clientv3.Client) (*clientv3.AlarmResponse, error) {
		return client.AlarmList(ctx)
	})
}

// DisarmAlarms ends all alarms and returns them.
func (s *Service) DisarmAlarms(ctx context.Context) ([]*machine.EtcdMemberAlarm, error) {
	return s.alarms(ctx, func(ctx context.Context, client *clientv3.Client) (*clientv3.AlarmResponse, error) {
		return client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	})
}

func (s *Service) alarms(
	ctx context.Context, do func(context.Context, *clientv3.Client) (*clientv3.AlarmResponse, error),
) (alarms []*machine.EtcdMemberAlarm, err error) {
	err = s.local(ctx, callTimeout, func(ctx context.Context, client *clientv3.Client) error {
		answer, err := do(ctx, client)
		if err != nil {
			return err
		}
		for _, alarm := range answer.Alarms {
			alarms = append(alarms, &machine.EtcdMemberAlarm{MemberId: alarm.MemberID, Alarm: alarmTypes[alarm.Alarm]})
		}

		return nil
	})

	return alarms, err
}

// What is not here is NONE, the zero value.
var alarmTypes = map[etcdserverpb.AlarmType]machine.EtcdMemberAlarm_AlarmType{
	etcdserverpb.AlarmType_NOSPACE: machine.EtcdMemberAlarm_NOSPACE,
	etcdserverpb.AlarmType_CORRUPT: machine.EtcdMemberAlarm_CORRUPT,
}

// Defragment rewrites the database of the local member.
func (s *Service) Defragment(ctx context.Context) error {
	return s.local(ctx, heavyTimeout, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.Defragment(ctx, s.opts.clientAddress())

		return err
	})
}

// DowngradeValidate asks whether the cluster could go to a version (MAJOR.MINOR); it returns the cluster's version.
func (s *Service) DowngradeValidate(ctx context.Context, version string) (string, error) {
	if err := validateDowngrade(version); err != nil {
		return "", err
	}

	return s.downgrade(ctx, clientv3.DowngradeValidate, version)
}

// DowngradeEnable makes the cluster ready for a version (MAJOR.MINOR); it returns the cluster's version.
func (s *Service) DowngradeEnable(ctx context.Context, version string) (string, error) {
	if err := validateDowngrade(version); err != nil {
		return "", err
	}

	return s.downgrade(ctx, clientv3.DowngradeEnable, version)
}

// DowngradeCancel takes a DowngradeEnable back; it returns the cluster's version.
func (s *Service) DowngradeCancel(ctx context.Context) (string, error) {
	return s.downgrade(ctx, clientv3.DowngradeCancel, "")
}

func (s *Service) downgrade(ctx context.Context, action clientv3.DowngradeAction, version string) (cluster string, err error) {
	err = s.local(ctx, 2*callTimeout, func(ctx context.Context, client *clientv3.Client) error {
		answer, err := client.Downgrade(ctx, action, version)
		if err == nil {
			cluster = answer.Version
		}

		return err
	})

	return cluster, err
}

// validateDowngrade refuses in Talos's words.
func validateDowngrade(version string) error {
	invalid := func(message string) error { return status.Error(codes.InvalidArgument, message) }
	if version == "" {
		return invalid("version is required for etcd downgrade")
	}
	parts := strings.Split(version, ".")
	if len(parts) != 2 {
		return invalid("version should be in MAJOR.MINOR format")
	}
	var numbers [2]int
	for i, what := range []string{"major", "minor"} {
		number, err := strconv.Atoi(parts[i])
		if err != nil {
			return invalid(fmt.Sprintf("%s version should be a number", what))
		}
		numbers[i] = number
	}
	if numbers[0] < 3 || (numbers[0] == 3 && numbers[1] < 5) {
		return invalid("etcd downgrade is only supported to 3.5 and later versions")
	}

	return nil
}
