package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
)

func start(t *testing.T) *httptest.Server {
	path := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(path, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := openRules(path)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer((&server{rules}).handler())
	t.Cleanup(web.Close)
	return web
}

func TestLogs(t *testing.T) {
	web := start(t)
	for query, want := range map[string]string{
		"":                            "first\nsecond\nthird\n",
		"?tailLines=2":                "second\nthird\n",
		"?tailLines=0":                "",
		"?tailLines=9&sinceSeconds=1": "first\nsecond\nthird\n",
	} {
		answer, err := http.Get(web.URL + "/containerLogs/flux-system/p/manager" + query)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(answer.Body); string(got) != want {
			t.Errorf("%q: %q", query, got)
		}
	}
	answer, _ := http.Get(web.URL + "/containerLogs/flux-system/p/manager?tailLines=x")
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", answer.StatusCode)
	}
}

func TestTimestamps(t *testing.T) {
	web := start(t)
	answer, err := http.Get(web.URL + "/containerLogs/a/p/c?timestamps=true")
	if err != nil {
		t.Fatal(err)
	}
	line, _ := io.ReadAll(answer.Body)
	stamp, rest, _ := strings.Cut(string(line), " ")
	if _, err := time.Parse(time.RFC3339Nano, stamp); err != nil || rest != noProcess+"\n" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestFollowEndsWithTheClient(t *testing.T) {
	web := start(t)
	ctx, leave := context.WithCancel(t.Context())
	request, _ := http.NewRequestWithContext(ctx, "GET", web.URL+"/containerLogs/flux-system/p/manager?follow=true", nil)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(answer.Body)
	for range 3 {
		reader.ReadString('\n')
	}
	leave()
	if _, err := reader.ReadByte(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	web.Close() // waits for the handler
}

func TestExec(t *testing.T) {
	web := start(t)
	for _, test := range []struct {
		path, command  string
		tty            bool
		stdout, stderr string
		code           int
	}{
		{"/exec/b/web-1/c", "cat /etc/hostname", false, "web\n", "", 0},
		{"/exec/b/web-1/some-uid/c", "cat /etc/hostname", true, "web\n", "", 0},
		{"/exec/b/web-1/c", "cat x", false, "", "no such file\n", 1},
		{"/exec/b/x/c", "rm -rf /", false, "", "simulated by the lab: no rule answers rm -rf /\n", 126},
		{"/exec/b/x/c", "rm", true, "simulated by the lab: no rule answers rm\n", "", 126},
		{"/attach/b/x/c", "", false, noProcess + "\n", "", 0},
	} {
		query := url.Values{"command": strings.Fields(test.command), "input": {"1"}, "output": {"1"}}
		if test.tty {
			query.Set("tty", "1")
		} else {
			query.Set("error", "1")
		}
		target, _ := url.Parse(web.URL + test.path + "?" + query.Encode())
		executor, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: web.URL}, "POST", target)
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		options := remotecommand.StreamOptions{Stdin: strings.NewReader("dropped"), Stdout: &stdout, Tty: test.tty}
		if !test.tty {
			options.Stderr = &stderr
		}

		err = executor.StreamWithContext(t.Context(), options)

		code := 0
		if exit := (exec.CodeExitError{}); errors.As(err, &exit) {
			code, err = exit.Code, nil
		}
		if err != nil || code != test.code || stdout.String() != test.stdout || stderr.String() != test.stderr {
			t.Errorf("%s %s: %q, %q, %d, %v", test.path, test.command, &stdout, &stderr, code, err)
		}
	}
}

func TestPortForward(t *testing.T) {
	web := start(t)
	target, _ := url.Parse(web.URL + "/portForward/a/p")
	transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", target)
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:80"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- forwarder.ForwardPorts() }()
	<-ready
	ports, _ := forwarder.GetPorts()
	if got := readAll(t, ports[0].Local); got != "simulated by the lab\n" {
		t.Errorf("%q", got)
	}
	close(stop)
	<-done
}

func readAll(t *testing.T, port uint16) string {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
