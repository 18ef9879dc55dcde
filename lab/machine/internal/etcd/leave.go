package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

const (
	leaveTimeout = time.Minute
	leaveEvery   = time.Second
)

// Leave takes this machine out of the cluster: the leadership is passed on, the member removed, etcd stopped and its
// data wiped. The last member cannot leave, and one without data (ErrNoData) has nothing to leave.
func (s *Service) Leave(ctx context.Context) error {
	if !s.HasData() {
		return ErrNoData
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()

	id, endpoints, err := s.ownMember(ctx)
	if err != nil {
		return err
	}
	if id != 0 {
		if err := s.withdraw(ctx, id, endpoints); err != nil {
			return err
		}
	}

	if err := s.Stop(ctx); err != nil {
		return fmt.Errorf("failed to stop etcd: %w", err)
	}
	if err := os.RemoveAll(s.opts.DataDir); err != nil {
		return fmt.Errorf("failed to remove %s: %w", s.opts.DataDir, err)
	}

	return nil
}

// withdraw removes the member. etcd refuses while it is not sure of the others: then it is asked again.
func (s *Service) withdraw(ctx context.Context, id uint64, endpoints []string) (err error) {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r != nil {
		r.leaving.Store(true)
		defer func() { r.leaving.Store(err == nil) }()
	}

	// Only a courtesy: a leader that is removed costs the others an election.
	if _, err := s.ForfeitLeadership(ctx); err != nil && !errors.Is(err, ErrNotRunning) {
		s.opts.Console("failed to forfeit leadership: " + err.Error())
	}
	for {
		err := s.removeMember(ctx, endpoints, id)
		switch {
		case err == nil, errors.Is(err, rpctypes.ErrMemberNotFound):
			return nil
		case !errors.Is(err, rpctypes.ErrUnhealthy) && !errors.Is(err, rpctypes.ErrStopped):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(leaveEvery):
		}
	}
}

// ownMember is the id of the local member (0 if the cluster has none) and whom to ask for its removal: the other
// members first, since the local one may be gone before it can answer. They are taken from the member's own cluster,
// not from discovery, which may know of machines that were bootstrapped apart.
func (s *Service) ownMember(ctx context.Context) (id uint64, endpoints []string, err error) {
	if s.State().PID != 0 {
		if members, err := s.memberList(ctx, true); err == nil {
			id = s.State().MemberID
			if status, err := s.MemberStatus(ctx); err == nil {
				id = status.MemberId
			}
			for _, member := range members {
				if member.ID != id && !member.IsLearner {
					endpoints = append(endpoints, member.ClientURLs...)
				}
			}

			return id, append(endpoints, s.opts.clientAddress()), nil
		}
	}

	// A learner does not know, or nothing runs: the others say who this machine is.
	members, err := s.memberList(ctx, false)
	if err != nil {
		return 0, nil, err
	}
	for _, member := range members {
		if member.Name == s.opts.Name {
			id = member.ID
		} else {
			endpoints = append(endpoints, member.ClientURLs...)
		}
	}

	return id, endpoints, nil
}
