package redis

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// patience is how long the answer to a question of health may take.
const patience = time.Second

// serveHealth answers whether clients would be answered: it asks as they do.
func serveHealth(address, store string, failed chan<- error) (*http.Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ping(store); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ok")
	})
	web := &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	go func() { failed <- web.Serve(listener) }()
	return web, nil
}

// ping takes the demand for a password as a sign of life too, so it needs none.
func ping(store string) error {
	conn, err := net.DialTimeout("tcp", store, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, "*1\r\n$4\r\nPING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(answer, "+PONG") && !strings.HasPrefix(answer, "-NOAUTH") {
		return fmt.Errorf("PING is answered by %q", answer)
	}
	return nil
}
