package etcd

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestThreeMembers(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	services := l.cluster()
	names := []string{"cp-1", "cp-2", "cp-3"}
	for _, s := range services {
		l.voters(s, names...)
	}
	l.put(services[0], "colour", "blue")

	t.Run("the leadership can be passed on", func(t *testing.T) {
		leader := l.leader(services)
		name, err := leader.ForfeitLeadership(t.Context())
		l.ok(err)
		if now := l.leader(services); now == leader || now.opts.Name != name {
			t.Fatalf("%q was said to lead, %q leads", name, now.opts.Name)
		}
		name, err = leader.ForfeitLeadership(t.Context())
		l.ok(err)
		if name != "" {
			t.Fatalf("a follower made %q the leader", name)
		}
	})

	t.Run("a restart keeps the members", func(t *testing.T) {
		for i := range services {
			id := l.id(services[i])
			l.ok(services[i].Stop(t.Context()))
			services[i] = l.service(i + 1)
			l.ok(l.join(services[i]))
			l.healthy(services[i])
			if l.id(services[i]) != id {
				t.Fatalf("%s is another member now", services[i].opts.Name)
			}
		}
		l.voters(services[0], names...)
	})

	t.Run("two dead of three lose the quorum, and back heal it", func(t *testing.T) {
		kill(services[1])
		l.put(services[0], "colour", "green") // two of three are enough
		kill(services[2])

		l.bounded(6*time.Second, func() error { return put(services[0], "colour", "red", 3*time.Second) }, ErrNoQuorum)
		l.bounded(6*time.Second, func() error { _, err := services[0].MemberList(t.Context(), false); return err }, ErrNoQuorum)
		l.bounded(6*time.Second, func() error { return services[0].Leave(t.Context()) }, ErrNoQuorum)
		l.bounded(6*time.Second, func() error { return services[0].RemoveMemberByID(t.Context(), 1) }, ErrNoQuorum)
		members, err := services[0].MemberList(t.Context(), true)
		l.ok(err)
		if len(members) != 3 {
			t.Fatalf("members: %v", members)
		}
		l.eventually("it is unhealthy", func() bool { return !services[0].IsHealthy() })
		if status := services[0].State(); !status.Voter || status.State != Running {
			t.Fatalf("status: %+v", status)
		}

		// A member that comes up alone does not even answer about itself, and must not be waited for.
		kill(services[0])
		services[0] = l.service(1)
		l.ok(services[0].Start(t.Context()))
		l.eventually("etcd is up", func() bool { return services[0].leaderless(t.Context()) })
		l.bounded(8*time.Second, func() error { _, err := services[0].MemberList(t.Context(), true); return err }, ErrNoQuorum)
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l.bounded(3*time.Second, func() error { _, err := services[0].Snapshot(hurried); return err }, ErrNoQuorum)

		for i := 1; i < 3; i++ {
			services[i] = l.service(i + 1)
			l.ok(services[i].Start(t.Context()))
		}
		for _, s := range services {
			l.healthy(s)
		}
		l.voters(services[0], names...)
		if value := l.get(services[0], "colour"); value != "green" && value != "red" {
			t.Fatalf("colour %q", value)
		}
		l.put(services[0], "colour", "red")
	})

	t.Run("the leader leaves, and may come back", func(t *testing.T) {
		leader := l.leader(services)
		gone := slices.Index(services, leader)
		rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == leader.opts.Name })
		id := l.id(leader)
		l.ok(leader.Leave(t.Context()))
		if _, err := os.Stat(leader.opts.DataDir); !os.IsNotExist(err) {
			t.Fatalf("data after leaving: %v", err)
		}
		if state := leader.State(); state.State != Finished {
			t.Fatalf("after leaving: %+v", state)
		}
		l.voters(services[(gone+1)%3], rest...)
		// It has no etcd any more, but may still ask the others.
		l.voters(leader, rest...)
		l.fails(leader.Leave(t.Context()), ErrNoData)

		l.ok(l.join(leader))
		l.healthy(leader)
		l.voters(leader, names...)
		if l.id(leader) == id || l.get(leader, "colour") != "red" {
			t.Fatal("it did not join as a new member with the cluster's data")
		}
	})
}

func TestInterruptedJoin(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	first, second := l.service(1), l.service(2)
	l.ok(first.Bootstrap(t.Context()))
	l.healthy(first)

	// Killed after it was added: the cluster has a learner that never started.
	_, err := second.addMember(t.Context())
	l.ok(err)
	members, err := first.MemberList(t.Context(), false)
	l.ok(err)
	if len(members) != 2 || !slices.ContainsFunc(members, func(m *machine.EtcdMember) bool { return m.Hostname == "" && m.IsLearner }) {
		t.Fatalf("members: %v", members)
	}
	// Killed while etcd made its directories: nothing to start from.
	l.ok(os.MkdirAll(filepath.Join(second.opts.DataDir, "member", "snap"), 0o700))
	second = l.service(2)
	if second.HasData() {
		t.Fatal("leftovers pass for data")
	}

	// Killed as a learner: nobody could promote it, since it knew of nobody any more.
	lonely := second
	second.opts.Addresses = func() []Peer {
		if lonely.State().State == Running {
			return nil
		}

		return l.book.Machines
	}
	l.ok(l.join(second))
	l.eventually("there is a learner", func() bool {
		own, err := second.MemberStatus(t.Context())
		return err == nil && own.IsLearner
	})
	if second.State().Voter || second.IsHealthy() {
		t.Fatalf("a learner passes for a voter: %+v", second.State())
	}
	if err := put(second, "colour", "blue", callTimeout); err == nil {
		t.Fatal("a learner took a write")
	}
	id := l.id(second)
	kill(second)

	second = l.service(2)
	l.ok(l.join(second))
	l.healthy(second)
	l.voters(first, "cp-1", "cp-2")
	if l.id(second) != id {
		t.Fatal("the learner came back as another member")
	}

	// Its disk was wiped without leaving: the member of the same name is replaced.
	l.ok(second.Stop(t.Context()))
	l.ok(os.RemoveAll(second.opts.DataDir))
	second = l.service(2)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	// One of two is no quorum, so nobody can take it in.
	if err := second.Join(ctx); err == nil {
		t.Fatal("it joined a cluster without a quorum")
	}
	if second.HasData() {
		t.Fatal("the failed join left data")
	}
}

func TestRemovedMember(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	services := l.cluster()
	if err := services[0].ValidateForUpgrade(t.Context()); err == nil || !strings.Contains(err.Error(), "insufficient to maintain quorum") {
		t.Fatalf("upgrade of one of two: %v", err)
	}
	id := l.id(services[1])
	// etcd refuses until it has seen the other one for a while.
	l.eventually("the member can be removed", func() bool { return services[0].RemoveMemberByID(t.Context(), id) == nil })
	l.eventually("etcd does not start any more", func() bool { return services[1].State().State == Waiting })
	l.voters(services[0], "cp-1")

	// What an administrator does then: the data goes, and it joins again.
	kill(services[1])
	l.ok(os.RemoveAll(services[1].opts.DataDir))
	l.ok(l.join(services[1]))
	l.healthy(services[1])
	l.voters(services[0], "cp-1", "cp-2")
}

// Talos does not hinder it, and neither does the lab.
func TestSplitBrain(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	first, second := l.service(1), l.service(2)
	l.ok(first.Bootstrap(t.Context()))
	l.healthy(first)
	l.ok(second.Bootstrap(t.Context()))
	l.healthy(second)
	l.voters(first, "cp-1")
	l.voters(second, "cp-2")
}

// bounded: the call fails, for that reason, and soon.
func (l *lab) bounded(limit time.Duration, do func() error, want error) {
	l.Helper()
	began := time.Now()
	l.fails(do(), want)
	if took := time.Since(began); took > limit {
		l.Fatalf("it took %s", took)
	}
}

func (l *lab) leader(services []*Service) *Service {
	l.Helper()
	var leader *Service
	l.eventually("there is a leader", func() bool {
		for _, s := range services {
			_ = s.local(l.Context(), callTimeout, func(ctx context.Context, client *clientv3.Client) error {
				own, err := client.Status(ctx, s.opts.clientAddress())
				if err == nil && own.Leader == own.Header.MemberId {
					leader = s
				}

				return err
			})
		}

		return leader != nil
	})

	return leader
}
