package etcd

import (
	"context"
	"sync"
	"syscall"
	"time"
)

// supervise keeps etcd running until the run ends: restarted forever, as Talos does it.
func (s *Service) supervise(r *run, p *process, args []string) {
	defer s.end(r)

	pause := restartSoon
	for {
		var failure error
		if p != nil {
			began := time.Now()
			if s.attend(r, p) {
				s.record(Finished, "Service finished successfully")

				return
			}
			if time.Since(began) > livedLong {
				pause = restartSoon
			}
			failure = p.failure()
		}
		if !r.leaving.Load() {
			s.restarting(p, failure)
		}
		if !pauseRestart(r, pause) {
			s.record(Stopping, "Aborting restart sequence")
			s.record(Finished, "Service finished successfully")

			return
		}
		pause = min(2*pause, restartLate)

		var err error
		if p, err = spawn(s.opts.Binary, args, s.opts.Log); err != nil {
			s.opts.Console("etcd: " + err.Error())
			p = nil
		}
	}
}

// pauseRestart waits before a restart, and as long as the member is about to leave. It is false if there is to be none.
func pauseRestart(r *run, pause time.Duration) bool {
	for {
		select {
		case <-r.ctx.Done():
			return false
		case <-time.After(pause):
		}
		if !r.leaving.Load() {
			return true
		}
	}
}

func (s *Service) restarting(p *process, failure error) {
	switch {
	case p == nil:
		s.record(Waiting, "Error running Containerd(etcd), going to restart forever: failed to start task: %q", "etcd")
	case failure == nil:
		s.record(Waiting, "Runner Containerd(etcd) exited without error, going to restart it")
	default:
		s.record(Waiting, "Error running Containerd(etcd), going to restart forever: %v", failure)
	}
}

// attend is with one life of etcd. It is true if the life ended because it was told to.
func (s *Service) attend(r *run, p *process) (stopped bool) {
	s.note(func(status *Status) {
		status.PID, status.Voter = p.pid, false
		status.Health = Health{}
	})
	s.record(Running, "Started task etcd (PID %d) for container etcd", p.pid)
	defer s.note(func(status *Status) { status.PID, status.Voter = 0, false })

	ctx, cancel := context.WithCancel(context.Background())
	var checks sync.WaitGroup
	checks.Go(func() { s.check(ctx) })
	defer checks.Wait()
	defer cancel()

	select {
	case <-p.exited:
		// Both at once: it was told to stop while it died.
		return r.ctx.Err() != nil
	case <-r.ctx.Done():
	}
	cancel() // nobody is to be told that a stopping etcd is unhealthy

	s.record(Stopping, "Sending SIGTERM to task etcd (PID %d, container etcd)", p.pid)
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		return true
	case <-r.kill:
	case <-time.After(stopGrace):
	}
	s.record(Stopping, "Sending SIGKILL to task etcd (PID %d, container etcd)", p.pid)
	p.signal(syscall.SIGKILL)
	<-p.exited

	return true
}
