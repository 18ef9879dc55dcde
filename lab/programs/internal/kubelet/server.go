package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// Config is what the flags of the program say.
type Config struct {
	Listen   string
	TLSCert  string
	TLSKey   string
	ClientCA string
	Rules    string
}

type server struct {
	rules *rulesFile
}

// Run serves until the context ends.
func Run(ctx context.Context, config Config) error {
	rules, err := openRules(config.Rules)
	if err != nil {
		return fmt.Errorf("--rules: %w", err)
	}
	secure, err := config.loadTLS()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return err
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true) // upgrades need it
	web := &http.Server{Handler: (&server{rules}).handler(), TLSConfig: secure, Protocols: protocols}

	failed := make(chan error, 1)
	go func() { failed <- web.ServeTLS(listener, "", "") }()
	log.Printf("listening on %s", listener.Addr())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		log.Print("stopping")
	}
	brief, cancel := context.WithTimeout(context.Background(), time.Second) // followed logs do not end
	defer cancel()
	if web.Shutdown(brief) != nil {
		web.Close()
	}
	return nil
}

func (c Config) loadTLS() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	data, err := os.ReadFile(c.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("--client-ca: %s holds no certificate", c.ClientCA)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		NextProtos:   []string{"http/1.1"},
		MinVersion:   tls.VersionTLS12,
	}, nil
}

// handler knows the paths of the real kubelet, with and without the pod's uid.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.serveLogs)
	for _, form := range []string{"/{namespace}/{pod}/{container}", "/{namespace}/{pod}/{uid}/{container}"} {
		mux.HandleFunc("/exec"+form, s.serveExec)
		mux.HandleFunc("/attach"+form, s.serveAttach)
	}
	mux.HandleFunc("/portForward/{namespace}/{pod}", s.servePortForward)
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", s.servePortForward)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	return logged(mux)
}

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			log.Printf("%s %s", r.Method, r.URL.RequestURI())
		}
		next.ServeHTTP(w, r)
	})
}

func placeOf(r *http.Request) Place {
	return Place{Namespace: r.PathValue("namespace"), Pod: r.PathValue("pod"), Container: r.PathValue("container")}
}
