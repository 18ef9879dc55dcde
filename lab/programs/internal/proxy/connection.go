package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

// connection is one client's TLS connection. HTTP/1.1 sends its requests one after
// the other, so what identify remembers needs no lock.
type connection struct {
	socket net.Conn

	verified      bool
	identity      *identity
	authorization string
	subject       string
}

type connectionKey struct{}

func withConnection(ctx context.Context, socket net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{socket: socket})
}

func connectionOf(r *http.Request) *connection {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		return c
	}
	return &connection{}
}

// identify verifies the client certificate once per connection, and again when it has
// expired meanwhile. It answers nil for a client without a certificate.
//
// The handshake accepts any certificate: the API server does the same and answers 401,
// which is what a client with an expired certificate has to see.
func (c *connection) identify(r *http.Request, roots *x509.CertPool, now time.Time) (*identity, error) {
	if roots == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	if c.verified && (c.identity == nil || now.Before(c.identity.expires)) {
		return c.identity, nil
	}
	found, err := verify(r.TLS.PeerCertificates, roots, now)
	c.identity, c.verified = found, err == nil
	return found, err
}

// claimed is the user that a token claims to be.
func (c *connection) claimed(authorization string) string {
	if authorization != c.authorization {
		c.authorization, c.subject = authorization, claimedSubject(authorization)
	}
	return c.subject
}

// reset closes the connection with RST instead of FIN: the client reads ECONNRESET.
func (c *connection) reset() {
	socket := c.socket
	if secure, ok := socket.(*tls.Conn); ok {
		socket = secure.NetConn() // below TLS, so that no close_notify is sent
	}
	if tcp, ok := socket.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	if socket != nil {
		socket.Close()
	}
}
