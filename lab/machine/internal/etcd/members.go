package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// MemberList are the members, with declared addresses. Asked locally, the member of this machine says what it knows by
// itself, with or without a quorum; otherwise any member that sees a leader answers.
func (s *Service) MemberList(ctx context.Context, queryLocal bool) ([]*machine.EtcdMember, error) {
	members, err := s.memberList(ctx, queryLocal)
	if err != nil {
		return nil, err
	}
	var reported []*machine.EtcdMember
	for _, member := range members {
		reported = append(reported, &machine.EtcdMember{
			Id:         member.ID,
			Hostname:   member.Name,
			PeerUrls:   s.declared(member.PeerURLs),
			ClientUrls: s.declared(member.ClientURLs),
			IsLearner:  member.IsLearner,
		})
	}

	return reported, nil
}

// memberList has real addresses.
func (s *Service) memberList(ctx context.Context, queryLocal bool) (members []*etcdserverpb.Member, err error) {
	list := func(options ...clientv3.OpOption) call {
		return func(ctx context.Context, client *clientv3.Client) error {
			answer, err := client.MemberList(ctx, options...)
			if err == nil {
				members = answer.Members
			}

			return err
		}
	}
	if queryLocal {
		err = s.local(ctx, callTimeout, list(clientv3.WithSerializable()))
	} else {
		err = s.askAny(ctx, s.all(), list())
	}

	return members, err
}

// declared replaces loopback addresses and the lab's ports by what the machines would have in a real network.
func (s *Service) declared(urls []string) []string {
	ports := map[string]int{
		strconv.Itoa(s.opts.Book.EtcdClient()): constants.EtcdClientPort,
		strconv.Itoa(s.opts.Book.EtcdPeer()):   constants.EtcdPeerPort,
	}
	var reported []string
	for _, real := range urls {
		if parsed, err := url.Parse(real); err == nil {
			port, known := ports[parsed.Port()]
			if address := s.declaredAddress(parsed.Hostname()); known && address != "" {
				parsed.Host = net.JoinHostPort(address, strconv.Itoa(port))
				real = parsed.String()
			}
		}
		reported = append(reported, real)
	}

	return reported
}

func (s *Service) declaredAddress(loopback string) string {
	if loopback == s.opts.Loopback {
		return s.opts.Declared
	}
	if entry, ok := s.opts.Book.Find(loopback); ok {
		return entry.Declared
	}

	return ""
}

// RemoveMemberByID removes any member; a gRPC status of NotFound if there is none.
func (s *Service) RemoveMemberByID(ctx context.Context, id uint64) error {
	err := s.removeMember(ctx, s.all(), id)
	if errors.Is(err, rpctypes.ErrMemberNotFound) {
		return status.Error(codes.NotFound, err.Error())
	}

	return err
}

func (s *Service) removeMember(ctx context.Context, endpoints []string, id uint64) error {
	err := s.askAny(ctx, endpoints, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberRemove(ctx, id)

		return err
	})
	if err != nil {
		return fmt.Errorf("failed to remove member %d: %w", id, err)
	}

	return nil
}

// ForfeitLeadership passes the leadership on, if the local member has it, and returns the name of the new leader.
func (s *Service) ForfeitLeadership(ctx context.Context) (leader string, err error) {
	err = s.local(ctx, 3*callTimeout, func(ctx context.Context, client *clientv3.Client) error {
		ctx = clientv3.WithRequireLeader(ctx)
		list, err := client.MemberList(ctx)
		if err != nil {
			return fmt.Errorf("failed to list etcd members: %w", err)
		}
		if len(list.Members) == 1 {
			return errors.New("cannot forfeit leadership, only one member")
		}
		own, err := client.Status(ctx, s.opts.clientAddress())
		if err != nil {
			return err
		}
		if own.Leader != own.Header.MemberId {
			return nil
		}
		leader, err = s.moveLeader(ctx, client, list.Members, own.Header.MemberId)

		return err
	})

	return leader, err
}

// moveLeader tries every voting member: one that is down cannot take over.
func (s *Service) moveLeader(ctx context.Context, client *clientv3.Client, members []*etcdserverpb.Member, from uint64) (string, error) {
	failure := errors.New("no other voting member")
	for _, member := range members {
		if member.ID == from || member.IsLearner || member.Name == "" {
			continue
		}
		s.opts.Console(fmt.Sprintf("moving leadership from %q to %q", s.opts.Name, member.Name))
		attempt, cancel := context.WithTimeout(ctx, callTimeout)
		_, err := client.MoveLeader(attempt, member.ID)
		cancel()
		switch {
		case err == nil:
			return member.Name, nil
		case errors.Is(err, rpctypes.ErrNotLeader):
			return "", nil
		}
		failure = err
	}

	return "", failure
}

// ValidateForUpgrade says why this machine should not go away for a while: the check that Talos makes before upgrades.
func (s *Service) ValidateForUpgrade(ctx context.Context) error {
	members, err := s.memberList(ctx, false)
	if err != nil {
		return err
	}
	if len(members) == 2 {
		return fmt.Errorf("etcd member count(%d) is insufficient to maintain quorum if upgrade commences", len(members))
	}
	for _, member := range members {
		if member.Name == "" {
			return fmt.Errorf("etcd member %016x is not started, all members must be running to perform an upgrade", member.ID)
		}
		for _, url := range member.ClientURLs {
			err := s.ask(ctx, url, callTimeout, func(ctx context.Context, client *clientv3.Client) error {
				_, err := client.Get(ctx, "health")

				return err
			})
			if err != nil {
				return fmt.Errorf("etcd member %016x is not healthy; all members must be healthy to perform an upgrade: %w", member.ID, err)
			}
		}
	}

	return nil
}
