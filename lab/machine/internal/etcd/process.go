package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is one life of etcd.
type process struct {
	pid    int
	exited chan struct{}
	// Set when exited is closed.
	err error

	cmd *exec.Cmd
	log *lastLine
}

// spawn starts etcd in this process's group, so that signals of the lab reach both. The kernel kills it when the thread
// that forked it ends, which is meant to be the end of this process; so the thread is kept until etcd is gone.
func spawn(binary string, args []string, log io.Writer) (*process, error) {
	p := &process{exited: make(chan struct{}), log: &lastLine{to: log}}
	p.cmd = exec.Command(binary, args...)
	p.cmd.Env = environment(os.Environ())
	p.cmd.Stdout = p.log
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = time.Second

	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()

		if err := p.cmd.Start(); err != nil {
			started <- err

			return
		}
		started <- nil
		p.err = p.cmd.Wait()
		close(p.exited)
	}()

	if err := <-started; err != nil {
		return nil, fmt.Errorf("failed to start task: %q: %w", "etcd", err)
	}
	p.pid = p.cmd.Process.Pid

	return p, nil
}

func (p *process) signal(signal syscall.Signal) {
	// The only error is that it is gone, which is what signals are sent for.
	_ = p.cmd.Process.Signal(signal)
}

// failure says in Talos's words how etcd ended by itself; nil for exit code 0.
func (p *process) failure() error {
	if p.err == nil {
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return fmt.Errorf("failed waiting for task: %q: %w", "etcd", p.err)
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}

	return fmt.Errorf("task %q failed: exit code %d (last log %q)", "etcd", code, p.log.line())
}

// lastLine passes output on and remembers its last line.
type lastLine struct {
	to io.Writer

	mu      sync.Mutex
	last    []byte
	partial []byte
}

func (l *lastLine) Write(data []byte) (int, error) {
	l.mu.Lock()
	l.partial = append(l.partial, data...)
	if end := bytes.LastIndexByte(l.partial, '\n'); end >= 0 {
		start := bytes.LastIndexByte(l.partial[:end], '\n') + 1
		l.last = append(l.last[:0], l.partial[start:end]...)
		l.partial = append(l.partial[:0], l.partial[end+1:]...)
	}
	l.mu.Unlock()

	// An error would end the copying, and with it etcd: losing a line is better.
	_, _ = l.to.Write(data)

	return len(data), nil
}

func (l *lastLine) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.partial) > 0 {
		return string(l.partial)
	}

	return string(l.last)
}
