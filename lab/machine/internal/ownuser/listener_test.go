package ownuser

import (
	"io"
	"net"
	"os"
	"testing"
	"time"
)

func TestOwnUserIsLetIn(t *testing.T) {
	for name, network := range map[string]string{"an IPv4 socket": "tcp4", "either": "tcp"} {
		t.Run(name, func(t *testing.T) {
			inner, err := net.Listen("tcp", "127.83.1.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer inner.Close()

			go func() {
				conn, err := Listener(inner, nil).Accept()
				if err == nil {
					io.WriteString(conn, "hello")
					conn.Close()
				}
			}()

			if answer := ask(t, network, inner.Addr().String()); answer != "hello" {
				t.Errorf("answered %q", answer)
			}
		})
	}
}

func TestOthersAreClosedAndTheNextIsAccepted(t *testing.T) {
	inner, err := net.Listen("tcp", "127.83.1.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()

	var refused []net.Addr

	// To become another user needs root. To take this one for another does not.
	guarded := &listener{Listener: inner, uid: os.Geteuid() + 1}
	guarded.refused = func(remote net.Addr) {
		refused = append(refused, remote)
		guarded.uid = os.Geteuid()
	}

	go func() {
		conn, err := guarded.Accept()
		if err == nil {
			io.WriteString(conn, "hello")
			conn.Close()
		}
	}()

	for _, want := range []string{"", "hello"} {
		if answer := ask(t, "tcp", inner.Addr().String()); answer != want {
			t.Errorf("answered %q instead of %q", answer, want)
		}
	}

	if len(refused) != 1 {
		t.Errorf("refused %v", refused)
	}
}

func TestAConnectionThatNobodyHasOpenBelongsToNobody(t *testing.T) {
	inner, err := net.Listen("tcp", "127.83.1.3:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()

	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	conn, err := inner.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if uid, ok := uidOf(conn.RemoteAddr(), conn.LocalAddr()); !ok || uid != os.Geteuid() {
		t.Fatalf("belongs to %d, %t", uid, ok)
	}

	client.Close()

	if uid, ok := uidOf(conn.RemoteAddr(), conn.LocalAddr()); ok {
		t.Errorf("belongs to %d", uid)
	}
}

func ask(t *testing.T, network, address string) string {
	t.Helper()

	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	conn.SetDeadline(time.Now().Add(5 * time.Second))
	answer, _ := io.ReadAll(conn) // a reset is an empty answer, too

	return string(answer)
}
