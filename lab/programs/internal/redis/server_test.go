package redis

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

const password = "Geheim-1"

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func start(t *testing.T, password string) Config {
	config := Config{Listen: freeAddress(t), Health: freeAddress(t), Password: password}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, config) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for range 100 {
		if answer, err := http.Get("http://" + config.Health + "/healthz"); err == nil {
			answer.Body.Close()
			return config
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("it does not answer")
	return config
}

func client(t *testing.T, config Config) *proto.Client {
	conn, err := proto.Dial(config.Listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func expect(t *testing.T, conn *proto.Client, want string, command ...string) {
	t.Helper()
	got, err := conn.Do(command...)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%v: %q, not %q", command, got, want)
	}
}

func TestAPasswordIsAskedFor(t *testing.T) {
	conn := client(t, start(t, password))
	expect(t, conn, proto.Error("NOAUTH Authentication required."), "GET", "x")
	if got, _ := conn.Do("AUTH", "wrong"); !strings.HasPrefix(got, "-WRONGPASS") {
		t.Errorf("%q", got)
	}
	expect(t, conn, proto.Inline("OK"), "AUTH", password)
	expect(t, conn, proto.Inline("OK"), "SET", "x", "1")
}

func TestNoPasswordIsAskedForWhereThereIsNone(t *testing.T) {
	expect(t, client(t, start(t, "")), proto.Inline("PONG"), "PING")
}

// What Argo CD's cache does: it writes with a time to live, once or always, renames,
// deletes, and tells others by a channel.
func TestArgoCDsCommands(t *testing.T) {
	config := start(t, "")
	conn := client(t, config)
	expect(t, conn, proto.Inline("OK"), "SET", "a", "1", "EX", "60")
	expect(t, conn, proto.Nil, "SET", "a", "2", "EX", "60", "NX")
	expect(t, conn, proto.Inline("OK"), "RENAME", "a", "b")
	expect(t, conn, proto.Error("ERR no such key"), "RENAME", "a", "b")
	expect(t, conn, proto.String("1"), "GET", "b")
	expect(t, conn, proto.Array(proto.String("0"), proto.Strings("b")), "SCAN", "0", "MATCH", "*")
	expect(t, conn, proto.Int(1), "DEL", "b")

	listening := client(t, config)
	expect(t, listening, proto.Array(proto.String("subscribe"), proto.String("news"), proto.Int(1)), "SUBSCRIBE", "news")
	expect(t, conn, proto.Int(1), "PUBLISH", "news", "")
	if got, err := listening.Read(); err != nil || got != proto.Strings("message", "news", "") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestKeysExpire(t *testing.T) {
	conn := client(t, start(t, ""))
	expect(t, conn, proto.Inline("OK"), "SET", "brief", "1", "PX", "300")
	expect(t, conn, proto.Inline("OK"), "SET", "long", "1", "EX", "60")
	expect(t, conn, proto.String("1"), "GET", "brief")
	for range 100 {
		if got, _ := conn.Do("GET", "brief"); got == proto.Nil {
			expect(t, conn, proto.String("1"), "GET", "long")
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("a key outlived its time")
}

func TestHealth(t *testing.T) {
	config := start(t, password)
	answer, err := http.Get("http://" + config.Health + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || string(body) != "ok" {
		t.Errorf("%d %q", answer.StatusCode, body)
	}
	if ping(freeAddress(t)) == nil {
		t.Error("nobody is said to be well")
	}
}

func TestATakenAddressIsAnError(t *testing.T) {
	config := start(t, "")
	if err := Run(context.Background(), Config{Listen: config.Listen}); err == nil {
		t.Error("no error")
	}
	if err := Run(context.Background(), Config{Listen: freeAddress(t), Health: config.Health}); err == nil {
		t.Error("no error")
	}
}
