package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// check watches over one life of etcd: its health, its member id, and its promotion while it is a learner. Talos
// promotes only a member that it has just added; here a learner that was interrupted is promoted too.
func (s *Service) check(ctx context.Context) {
	client, err := s.client(s.opts.clientAddress(), impatient...)
	if err != nil {
		s.recordHealth(err)

		return
	}
	defer client.Close()

	var (
		hindrance string
		promoted  bool
	)
	for began := time.Now(); ; {
		pause := healthEvery
		err := s.probe(ctx, client)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			pause = healthSoon
		}
		if err == nil || time.Since(began) > healthSilence || s.State().Health.Known {
			s.recordHealth(err)
		}
		if errors.Is(err, errLearner) {
			pause = promoteEvery
			switch err := s.promote(ctx, client); {
			case err == nil:
				// The member itself hears of it a moment later.
				pause = healthSoon
				if !promoted {
					promoted = true
					s.opts.Console("successfully promoted etcd member")
				}
			case ctx.Err() == nil && err.Error() != hindrance:
				hindrance = err.Error()
				s.opts.Console("retrying to promote etcd member: " + hindrance)
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// probe reads a key that nobody has, as Talos does: any answer proves a quorum.
func (s *Service) probe(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	answer, err := client.Get(ctx, "health")
	if err != nil {
		return s.explain(ctx, err)
	}
	s.note(func(status *Status) { status.MemberID, status.Voter = answer.Header.MemberId, true })

	return nil
}

// promote asks the others, one by one: the learner itself cannot, and only those that see the leader can.
func (s *Service) promote(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 3*callTimeout)
	defer cancel()
	status, err := client.Status(ctx, s.opts.clientAddress())
	if err != nil {
		return err
	}
	id := status.Header.MemberId
	s.note(func(status *Status) { status.MemberID = id })

	err = s.askAny(ctx, s.others(), func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberPromote(ctx, id)

		return err
	})
	if errors.Is(err, rpctypes.ErrMemberNotLearner) {
		return nil
	}

	return err
}
