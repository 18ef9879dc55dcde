package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Config is what the flags of the program say.
type Config struct {
	Listen     string
	Upstream   string
	TLSCert    string
	TLSKey     string
	ClientCA   string
	UpstreamCA string
	// UpstreamName is verified instead of the address: the lab's certificates name no loopback address.
	UpstreamName string
	FrontCert    string
	FrontKey     string
	Control      string
	Seed         uint64
}

// Run serves until the context ends.
func Run(ctx context.Context, config Config) error {
	proxy, certificate, err := config.load()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return err
	}
	socket, err := listenUnix(config.Control)
	if err != nil {
		listener.Close()
		return fmt.Errorf("--control: %w", err)
	}
	server, control := proxy.newServer(certificate), &http.Server{Handler: proxy.Control()}

	failed := make(chan error, 2)
	go func() { failed <- server.ServeTLS(listener, "", "") }()
	go func() { failed <- control.Serve(socket) }()
	log.Printf("listening on %s for %s, control %s, seed %d", listener.Addr(), config.Upstream, config.Control, config.Seed)

	select {
	case err = <-failed:
	case <-ctx.Done():
		log.Print("stopping")
	}
	proxy.stop(server)
	control.Close()
	return err
}

func (c Config) load() (*Proxy, tls.Certificate, error) {
	none := tls.Certificate{}
	upstream, err := url.Parse(c.Upstream)
	if err != nil || upstream.Scheme != "https" || upstream.Host == "" || upstream.Path != "" {
		return nil, none, fmt.Errorf("--upstream %q: write https://ADDRESS:PORT", c.Upstream)
	}
	certificate, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, none, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	front, err := tls.LoadX509KeyPair(c.FrontCert, c.FrontKey)
	if err != nil {
		return nil, none, fmt.Errorf("--front-cert, --front-key: %w", err)
	}
	upstreamCA, err := loadPool(c.UpstreamCA)
	if err != nil {
		return nil, none, fmt.Errorf("--upstream-ca: %w", err)
	}
	var clientCA *x509.CertPool
	if c.ClientCA != "" {
		if clientCA, err = loadPool(c.ClientCA); err != nil {
			return nil, none, fmt.Errorf("--client-ca: %w", err)
		}
	}
	transport := newUpstreamTransport(&tls.Config{RootCAs: upstreamCA, ServerName: c.UpstreamName}, front)
	return newProxy(upstream, clientCA, transport, c.Seed), certificate, nil
}

func loadPool(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return pool, nil
}

// newServer speaks HTTP/1.1 only: over HTTP/2 a reset would hit every request
// of a client at once, and which ones would be chance.
func (p *Proxy) newServer(certificate tls.Certificate) *http.Server {
	ask := tls.NoClientCert
	if p.clientCA != nil {
		ask = tls.RequestClientCert // verified in connection.go
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:     p,
		Protocols:   protocols,
		ConnContext: withConnection,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				p.recorder.accept()
			}
		},
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			ClientAuth:   ask,
			ClientCAs:    p.clientCA, // named in the handshake, so that clients choose the right one
			NextProtos:   []string{"http/1.1"},
			MinVersion:   tls.VersionTLS12,
			// Small first records help browsers over slow lines; here they only cost system calls.
			DynamicRecordSizingDisabled: true,
		},
	}
}

// stop lets requests finish for a moment. Watches and held requests would not end by
// themselves.
func (p *Proxy) stop(server *http.Server) {
	p.rules.clear("")
	p.watches.cut(&Match{}, false)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		server.Close()
	}
}
