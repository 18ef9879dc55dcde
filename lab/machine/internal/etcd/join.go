package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// nagEvery is how often Talos reminds of the bootstrap.
const nagEvery = 30 * time.Second

// join adds this machine to the cluster of the others, as a learner, once one of them answers.
func (s *Service) join(ctx context.Context) (*initialCluster, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()

	var (
		nagged    time.Time
		hindrance string
	)
	for {
		if time.Since(nagged) > nagEvery {
			nagged = time.Now()
			s.opts.Console("etcd is waiting to join the cluster, if this node is the first node in the cluster, " +
				"please run `talosctl bootstrap` against one of the following IPs:")
			s.opts.Console(fmt.Sprintf("[%s]", s.opts.Declared))
		}

		members, err := s.addMember(ctx)
		if err == nil {
			return &initialCluster{state: "existing", members: members}, nil
		}
		if ctx.Err() == nil && err.Error() != hindrance {
			hindrance = err.Error()
			s.opts.Console("retrying error: " + hindrance)
		}

		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("failed to build initial etcd cluster: failed to build cluster arguments: %w (%w)", ctx.Err(), err)
		case <-time.After(joinEvery):
		}
	}
}

// addMember adds the learner and returns the cluster that it is to start with.
//
// It is called without data, so what the cluster already has of this machine is stale: a member of the same name, or
// one with the same peer URL, which has no name yet if it never started. Talos 1.13 removes only the former, and is
// refused forever ("Peer URLs already exists") when it was interrupted between adding and starting.
func (s *Service) addMember(ctx context.Context) (members string, err error) {
	url := s.opts.peerURL()
	err = s.askAny(ctx, s.others(), func(ctx context.Context, client *clientv3.Client) error {
		list, err := client.MemberList(ctx)
		if err != nil {
			return fmt.Errorf("error getting etcd member list: %w", err)
		}
		for _, member := range list.Members {
			if member.Name == s.opts.Name || slices.Contains(member.PeerURLs, url) {
				if _, err := client.MemberRemove(ctx, member.ID); err != nil {
					return fmt.Errorf("error removing self from the member list: %w", err)
				}
			}
		}
		added, err := client.MemberAddAsLearner(ctx, []string{url})
		if err != nil {
			return fmt.Errorf("error adding member: %w", err)
		}
		list, err = client.MemberList(ctx)
		if err != nil {
			return fmt.Errorf("error getting second etcd member list: %w", err)
		}

		var entries []string
		for _, member := range list.Members {
			name := member.Name
			if member.ID == added.Member.ID {
				name = s.opts.Name
			}
			for _, url := range member.PeerURLs {
				entries = append(entries, name+"="+url)
			}
		}
		members = strings.Join(entries, ",")

		return nil
	})

	return members, err
}
