package etcd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// parentVariable makes the test binary a machine whose only purpose is to die.
const parentVariable = "ETCD_TEST_PARENT"

// beParent starts etcd, says its pid and waits. The goroutine that started it ends, and threads come and go: etcd must
// not mind.
func beParent() {
	var o Options
	if err := json.Unmarshal([]byte(os.Getenv(parentVariable)), &o); err != nil {
		panic(err)
	}
	s, err := New(o)
	if err != nil {
		panic(err)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // without unlocking, the thread ends with the goroutine
		started <- s.Bootstrap(context.Background())
	}()
	if err := <-started; err != nil {
		panic(err)
	}
	if err := s.WaitHealthy(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(s.State().PID)
	select {}
}

func TestDiesWithItsParent(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	o := l.options(1)
	o.Log, o.Console, o.Addresses = nil, nil, nil
	parent := exec.Command(os.Args[0])
	text, err := json.Marshal(struct {
		Options
		Log, Console, Addresses, OnChange *int
	}{Options: o})
	l.ok(err)
	parent.Env = append(os.Environ(), parentVariable+"="+string(text))
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	l.ok(err)
	l.ok(parent.Start())
	t.Cleanup(func() { _ = parent.Process.Kill() })

	var pid int
	line, err := bufio.NewReader(output).ReadString('\n')
	l.ok(err)
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	group, err := syscall.Getpgid(pid)
	l.ok(err)
	own, err := syscall.Getpgid(parent.Process.Pid)
	l.ok(err)
	if group != own {
		t.Fatalf("etcd is in group %d, its machine in %d", group, own)
	}
	l.ok(syscall.Kill(pid, 0))
	l.ok(parent.Process.Kill())
	_ = parent.Wait()

	deadline := time.Now().Add(3 * time.Second)
	for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !isZombie(pid) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("etcd outlived its machine")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// isZombie: dead, but nobody has asked how; who inherits orphans here may not care.
func isZombie(pid int) bool {
	var name, state string
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, _ = fmt.Sscanf(string(stat), "%d %s %s", &pid, &name, &state)

	return state == "Z"
}
