package etcd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestOneMember(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	o := l.options(1)
	var told []Event
	o.OnChange = func(event Event) { told = append(told, event) }
	s, err := New(o)
	l.ok(err)
	t.Cleanup(func() { kill(s) })

	if s.HasData() {
		t.Fatal("data before anything was started")
	}
	l.fails(s.Start(t.Context()), ErrNoData)
	_, err = s.MemberList(t.Context(), true)
	l.fails(err, ErrNotRunning)
	l.ok(s.Bootstrap(t.Context()))
	l.healthy(s)

	t.Run("is a voting member that reports declared addresses", func(t *testing.T) {
		for _, local := range []bool{true, false} {
			members, err := s.MemberList(t.Context(), local)
			l.ok(err)
			if len(members) != 1 {
				t.Fatalf("members: %v", members)
			}
			m := members[0]
			if m.Hostname != "cp-1" || m.IsLearner || m.Id != l.id(s) ||
				!slices.Equal(m.PeerUrls, []string{"https://10.5.0.2:2380"}) ||
				!slices.Equal(m.ClientUrls, []string{"https://10.5.0.2:2379"}) {
				t.Fatalf("member: %v", m)
			}
		}
		if status := s.State(); !status.Voter || status.MemberID != l.id(s) || status.PID == 0 {
			t.Fatalf("status: %+v", status)
		}
	})

	t.Run("cannot be bootstrapped again, and does not notice", func(t *testing.T) {
		pid := s.State().PID
		l.fails(s.Bootstrap(t.Context()), ErrHasData)
		l.fails(s.Start(t.Context()), ErrRunning)
		if !s.IsHealthy() || s.State().PID != pid {
			t.Fatal("the refused bootstrap stopped it")
		}
	})

	t.Run("answers to maintenance", func(t *testing.T) {
		own, err := s.MemberStatus(t.Context())
		l.ok(err)
		if own.Leader != own.MemberId || own.DbSize == 0 || !strings.HasPrefix(own.ProtocolVersion, "3.") || own.StorageVersion == "" {
			t.Fatalf("status: %v", own)
		}
		alarms, err := s.Alarms(t.Context())
		l.ok(err)
		if len(alarms) != 0 {
			t.Fatalf("alarms: %v", alarms)
		}
		_, err = s.DisarmAlarms(t.Context())
		l.ok(err)
		l.ok(s.Defragment(t.Context()))
		l.ok(s.ValidateForUpgrade(t.Context()))
		if err := s.RemoveMemberByID(t.Context(), 4711); status.Code(err) != codes.NotFound {
			t.Fatalf("removing an unknown member: %v", err)
		}
		for _, version := range []string{"", "3", "3.x", "3.4"} {
			if _, err := s.DowngradeValidate(t.Context(), version); status.Code(err) != codes.InvalidArgument {
				t.Fatalf("downgrade to %q: %v", version, err)
			}
		}
		version, err := s.DowngradeValidate(t.Context(), "3.5")
		l.ok(err)
		if version != "3.6" {
			t.Fatalf("cluster version %q", version)
		}
	})

	t.Run("is the last and cannot leave", func(t *testing.T) {
		if _, err := s.ForfeitLeadership(t.Context()); err == nil || !strings.Contains(err.Error(), "only one member") {
			t.Fatalf("forfeit: %v", err)
		}
		l.fails(s.Leave(t.Context()), rpctypes.ErrMemberNotEnoughStarted)
		if !s.HasData() || !s.IsHealthy() {
			t.Fatal("the refused leave changed it")
		}
	})

	t.Run("keeps its secrets", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(o.PKIDir, "*"))
		l.ok(err)
		if len(files) != 7 {
			t.Fatalf("files: %v", files)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
				t.Fatalf("%s: %v %v", file, info.Mode(), err)
			}
		}
	})

	t.Run("is restarted when it dies, as the same member", func(t *testing.T) {
		id, pid := l.id(s), s.State().PID
		l.put(s, "colour", "blue")
		l.ok(syscall.Kill(pid, syscall.SIGKILL))
		l.eventually("etcd has another pid", func() bool { now := s.State().PID; return now != 0 && now != pid })
		l.healthy(s)
		if l.id(s) != id || l.get(s, "colour") != "blue" {
			t.Fatal("it is another member now")
		}
	})

	t.Run("stops, and says so as Talos does", func(t *testing.T) {
		id, pid := l.id(s), s.State().PID
		l.ok(s.Stop(t.Context()))
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("etcd still there: %v", err)
		}
		var states []State
		for _, event := range told {
			if len(states) == 0 || states[len(states)-1] != event.State {
				states = append(states, event.State)
			}
		}
		want := []State{Finished, Starting, Preparing, Running, Waiting, Running, Stopping, Finished}
		if !slices.Equal(states, want) {
			t.Fatalf("states %v, want %v", states, want)
		}
		restart := slices.IndexFunc(told, func(event Event) bool { return event.State == Waiting })
		if message := told[restart].Message; !strings.Contains(message, "exit code 137") {
			t.Fatalf("restart: %s", message)
		}
		if s.State().Health.Healthy || s.State().PID != 0 {
			t.Fatalf("status: %+v", s.State())
		}
		l.ok(s.Stop(t.Context()))

		// The machine's next boot.
		again := l.service(1)
		l.ok(l.join(again))
		l.healthy(again)
		if l.id(again) != id || l.get(again, "colour") != "blue" {
			t.Fatal("it came back as another member")
		}
	})
}

func TestRestore(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	first, second := l.service(1), l.service(2)
	l.ok(first.Bootstrap(t.Context()))
	l.healthy(first)
	l.put(first, "colour", "blue")
	path := filepath.Join(l.dir, "etcd.snapshot")
	stream, err := first.Snapshot(t.Context())
	l.ok(err)
	data, err := io.ReadAll(stream)
	l.ok(err)
	l.ok(stream.Close())
	l.put(first, "colour", "red")

	t.Run("refuses a broken file, and can then be bootstrapped", func(t *testing.T) {
		broken := slices.Clone(data)
		broken[len(broken)/2] ^= 0xff
		l.ok(os.WriteFile(path, broken, 0o600))
		if err := second.BootstrapFromSnapshot(t.Context(), path, false); err == nil || second.State().State != Failed {
			t.Fatalf("%v, %+v", err, second.State())
		}
		for _, skip := range []bool{false, true} {
			l.ok(os.WriteFile(path, []byte(strings.Repeat("nonsense", 2048)), 0o600))
			if err := second.BootstrapFromSnapshot(t.Context(), path, skip); err == nil {
				t.Fatal("a file that is no snapshot was restored")
			}
		}
		if second.HasData() {
			t.Fatal("the failure left data")
		}
	})

	// The second machine waits to join, as one does that was reset; the recovery takes its place.
	l.discovered = func() []Peer { return nil }
	joined := make(chan error, 1)
	go func() { joined <- second.Join(context.Background()) }()
	l.eventually("the second waits", func() bool { return second.State().State == Preparing })
	l.ok(os.WriteFile(path, data, 0o600))
	l.ok(second.BootstrapFromSnapshot(t.Context(), path, false))
	l.fails(<-joined, ErrStopped)
	l.healthy(second)
	l.voters(second, "cp-2")
	if value := l.get(second, "colour"); value != "blue" {
		t.Fatalf("colour %q", value)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the snapshot was kept: %v", err)
	}

	// The file of a data directory has no hash at its end.
	kill(first)
	db := filepath.Join(first.opts.DataDir, "member", "snap", "db")
	third := newLab(t, 1)
	recovered := third.service(1)
	if err := recovered.BootstrapFromSnapshot(t.Context(), db, false); err == nil {
		t.Fatal("a file without a hash was restored")
	}
	l.ok(recovered.BootstrapFromSnapshot(t.Context(), db, true))
	third.healthy(recovered)
	if value := third.get(recovered, "colour"); value != "red" {
		t.Fatalf("colour %q", value)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	o := l.options(1)
	l.ok(o.validate())
	o.ExtraArgs = map[string][]string{
		"election-timeout":    {"2000"},
		"listen-metrics-urls": {"http://0.0.0.0:2381"},
	}
	args, err := arguments(&o, nil)
	l.ok(err)
	if !slices.Contains(args, "--election-timeout=2000") || !slices.Contains(args, "--listen-metrics-urls="+o.metricsURL()) {
		t.Fatalf("arguments: %q", args)
	}
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--initial-cluster") }) {
		t.Fatalf("a member with data was told about its cluster: %q", args)
	}

	o.ExtraArgs = map[string][]string{"name": {"other"}}
	s, err := New(o)
	l.ok(err)
	if err := s.Bootstrap(t.Context()); err == nil || !strings.Contains(err.Error(), `extra arg "name" is not allowed`) {
		t.Fatalf("%v", err)
	}
	if status := s.State(); status.State != Failed || !strings.HasPrefix(status.Message, "Failed to run pre stage") {
		t.Fatalf("%+v", status)
	}
	if s.HasData() {
		t.Fatal("data of an etcd that never started")
	}

	o.ExtraArgs, o.Binary = nil, "/nonexistent/etcd"
	s, err = New(o)
	l.ok(err)
	if err := s.Bootstrap(t.Context()); err == nil || s.State().State != Failed {
		t.Fatalf("%v, %+v", err, s.State())
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	for name, spoil := range map[string]func(*Options){
		"no CA":         func(o *Options) { o.CA = nil },
		"no name":       func(o *Options) { o.Name = "" },
		"no address":    func(o *Options) { o.Loopback = "cp-1" },
		"no book":       func(o *Options) { o.Book = nil },
		"CA of nothing": func(o *Options) { ca := *o.CA; ca.Crt = []byte("nonsense"); o.CA = &ca },
	} {
		o := l.options(1)
		spoil(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestLastLine(t *testing.T) {
	t.Parallel()
	log := &logFile{}
	l := &lastLine{to: log}
	for _, step := range []struct{ write, want string }{
		{"one", "one"}, {" line\n", "one line"}, {"two\nthree\nfo", "fo"}, {"ur\n", "four"}, {"\n", ""},
	} {
		if _, err := l.Write([]byte(step.write)); err != nil || l.line() != step.want {
			t.Fatalf("after %q: %q, %v", step.write, l.line(), err)
		}
	}
	if log.String() != "one line\ntwo\nthree\nfour\n\n" {
		t.Fatalf("passed on: %q", log.String())
	}
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	s := l.service(1)
	l.ok(s.Bootstrap(t.Context()))
	l.healthy(s)
	// A process that is stopped by a signal cannot end by itself.
	l.ok(syscall.Kill(s.State().PID, syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	l.ok(s.Stop(ctx))
	if took := time.Since(began); took > 3*time.Second {
		t.Fatalf("it took %s", took)
	}
}
