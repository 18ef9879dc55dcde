package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Errors that callers tell apart.
var (
	// ErrHasData is why a machine cannot be bootstrapped.
	ErrHasData = errors.New("etcd data directory is not empty")
	// ErrNoData is why a member cannot go on as before.
	ErrNoData = errors.New("etcd data directory is empty")
	// ErrRunning: there is a run already, perhaps one that still waits to join.
	ErrRunning = errors.New("etcd is already running")
	// ErrStopped is what a Join returns that was stopped, for instance by a Bootstrap.
	ErrStopped = errors.New("etcd was stopped")
	// ErrNotRunning is why a local question has no answer.
	ErrNotRunning = errors.New("etcd is not running")
	// ErrNoQuorum is why a question that needs the cluster has no answer.
	ErrNoQuorum = errors.New("etcd has no quorum")
)

// How long things take. Talos's own values suit real disks and networks: 3 s between attempts to join, 15 s between
// attempts to promote, 5 s before a restart, health every 20 s.
const (
	joinTimeout  = 30 * time.Minute // as Talos
	joinEvery    = time.Second
	promoteEvery = 500 * time.Millisecond

	restartSoon = 300 * time.Millisecond // doubled with every failure
	restartLate = 5 * time.Second
	livedLong   = 20 * time.Second // a life that makes the next restart quick again

	stopGrace = 10 * time.Second // as Talos

	healthSoon    = 200 * time.Millisecond // until it is healthy
	healthEvery   = 2 * time.Second
	healthTimeout = 3 * time.Second
	healthSilence = 5 * time.Second // as Talos: no verdict so early
)

// Service is the etcd service of a machine.
type Service struct {
	opts Options
	tls  *tls.Config

	telling sync.Mutex

	mu      sync.Mutex
	status  Status
	events  []Event
	changed chan struct{}
	run     *run
}

// run is everything between a start and the stop that belongs to it, restarts of the process included.
type run struct {
	ctx    context.Context
	cancel context.CancelFunc
	// kill is closed when the stop has no more patience.
	kill     chan struct{}
	killOnce sync.Once
	done     chan struct{}
	// leaving: the member is being removed, and its end is no reason for a restart.
	leaving atomic.Bool
}

// New prepares the service: certificates are written, nothing is started. What a member left that was killed before it
// had written anything of use is removed: etcd could not start from it, and it would forbid a new attempt.
func New(o Options) (*Service, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	config, err := writePKI(&o)
	if err != nil {
		return nil, err
	}
	if logs, err := filepath.Glob(filepath.Join(o.DataDir, "member", "wal", "*.wal")); err != nil || len(logs) == 0 {
		if err := os.RemoveAll(o.DataDir); err != nil {
			return nil, fmt.Errorf("what an unfinished etcd member left: %w", err)
		}
	}

	s := &Service{opts: o, tls: config, changed: make(chan struct{})}
	s.status.State = Initialized

	return s, nil
}

// HasData is the check that a bootstrap makes: whether something is in the data directory.
func (s *Service) HasData() bool {
	entries, _ := os.ReadDir(s.opts.DataDir)

	return len(entries) > 0
}

// Endpoint is where the local member really is, as a URL.
func (s *Service) Endpoint() string { return s.opts.clientURL() }

// Bootstrap makes this machine the first member of a new cluster. Whatever waits to join is stopped. It returns when
// etcd has been started; WaitHealthy tells when it serves. Nothing hinders a second cluster on another machine.
func (s *Service) Bootstrap(ctx context.Context) error {
	return s.bootstrap(ctx, func(context.Context) (*initialCluster, error) {
		return &initialCluster{state: "new", members: s.opts.Name + "=" + s.opts.peerURL()}, nil
	})
}

// BootstrapFromSnapshot is Bootstrap with the keys of a snapshot. The file is removed once it is restored, as Talos
// does it with the one that was uploaded for the recovery.
func (s *Service) BootstrapFromSnapshot(ctx context.Context, path string, skipHashCheck bool) error {
	return s.bootstrap(ctx, func(context.Context) (*initialCluster, error) {
		return nil, s.restore(path, skipHashCheck)
	})
}

func (s *Service) bootstrap(ctx context.Context, prepare preparation) error {
	if s.HasData() {
		return ErrHasData
	}
	if err := s.Stop(ctx); err != nil {
		return fmt.Errorf("failed to stop etcd: %w", err)
	}
	s.record(Finished, "Bootstrap requested")
	if s.HasData() {
		// It had joined a cluster in between, and should go on.
		return errors.Join(ErrHasData, s.Start(ctx))
	}

	return s.launch(ctx, prepare)
}

// Join makes this machine a member of the cluster that other control planes have: it waits until one of them answers,
// adds itself as a learner and starts. The promotion follows as soon as the learner is in sync. With data in the data
// directory it is Start, as in Talos. It returns when etcd has been started, or with ErrStopped.
func (s *Service) Join(ctx context.Context) error {
	if s.HasData() {
		return s.Start(ctx)
	}

	return s.launch(ctx, s.join)
}

// Start goes on as the member that the data directory says.
func (s *Service) Start(ctx context.Context) error {
	if !s.HasData() {
		return ErrNoData
	}

	return s.launch(ctx, func(context.Context) (*initialCluster, error) { return nil, nil })
}

// Stop ends the run, or the wait to join. It returns when etcd is gone; if ctx ends before, etcd is killed.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil {
		return nil
	}

	r.cancel()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	r.killOnce.Do(func() { close(r.kill) })
	select {
	case <-r.done:
		return nil
	case <-time.After(5 * time.Second):
		return fmt.Errorf("etcd did not stop: %w", ctx.Err())
	}
}

// preparation makes the data directory ready and says what etcd must be told about its cluster.
type preparation func(context.Context) (*initialCluster, error)

// launch begins a run. The context is that of the preparation; etcd itself runs until it is stopped.
func (s *Service) launch(ctx context.Context, prepare preparation) error {
	r := &run{kill: make(chan struct{}), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())

	s.mu.Lock()
	if s.run != nil {
		s.mu.Unlock()
		r.cancel()

		return ErrRunning
	}
	s.run = r
	s.mu.Unlock()

	p, args, err := s.prepare(ctx, r, prepare)
	if err != nil {
		message := err.Error()
		s.record(Failed, "%s", strings.ToUpper(message[:1])+message[1:])
		if r.ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrStopped, err)
		}
		s.end(r)

		return err
	}
	go s.supervise(r, p, args)

	return nil
}

func (s *Service) end(r *run) {
	r.cancel()
	s.mu.Lock()
	s.run = nil
	s.mu.Unlock()
	close(r.done)
}

func (s *Service) prepare(ctx context.Context, r *run, prepare preparation) (*process, []string, error) {
	s.record(Starting, "Starting service")
	s.record(Preparing, "Running pre state")

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()

	// The preparation changes the cluster when it joins one; arguments that are not allowed must be found before.
	if _, err := arguments(&s.opts, nil); err != nil {
		return nil, nil, fmt.Errorf("failed to run pre stage: %w", err)
	}
	initial, err := prepare(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("failed to run pre stage: %w", err)
	}
	args, err := arguments(&s.opts, initial)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to run pre stage: %w", err)
	}
	if err := os.MkdirAll(s.opts.DataDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("failed to run pre stage: %w", err)
	}

	s.record(Preparing, "Creating service runner")
	p, err := spawn(s.opts.Binary, args, s.opts.Log)
	if err != nil {
		return nil, nil, fmt.Errorf("failed running service: %w", err)
	}

	return p, args, nil
}
