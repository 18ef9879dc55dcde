package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// exec and port-forward turn the connection into something else, in both directions.
func TestUpgradePasses(t *testing.T) {
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		s := newStack(t, func(w http.ResponseWriter, r *http.Request) {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nX-User: %s\r\n\r\n",
				r.Header.Get("Upgrade"), r.Header.Get("X-Remote-User"))
			line, _ := buffered.ReadString('\n')
			io.WriteString(conn, "echo "+line)
		})
		config := s.client.Transport.(*http.Transport).TLSClientConfig
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), config)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s/p/exec?command=id HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", pods, protocol)
		reader := bufio.NewReader(conn)
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "hello\n")
		line, err := reader.ReadString('\n')
		conn.Close()

		if answer.StatusCode != 101 || answer.Header.Get("Upgrade") != protocol || answer.Header.Get("X-User") != "alice" || line != "echo hello\n" {
			t.Errorf("%s: %d %v, %q, %v", protocol, answer.StatusCode, answer.Header, line, err)
		}
		if records := s.records(1); len(records) != 1 || records[0].Status != 101 {
			t.Errorf("recorded %+v", records)
		}
	}
}
