package apid

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
)

// refusal is how long a client whose certificate was refused has to read why.
const refusal = time.Second

// lingeringCredentials are the server's side of TLS, with a way to refuse that clients can read.
//
// In TLS 1.3 the client is done first: it sends its call while the server still looks at its certificate. If the
// connection were closed right then, the call would fail to be sent, and the client would say "broken pipe" instead of
// "expired certificate". Over a real network the answer is almost always faster than that; over loopback it is not.
type lingeringCredentials struct {
	credentials.TransportCredentials
}

func (c lingeringCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	held := &heldConn{Conn: raw}

	conn, info, err := c.TransportCredentials.ServerHandshake(held)
	held.released.Store(true)

	if err != nil {
		// gRPC closes the connection when this returns.
		raw.SetReadDeadline(time.Now().Add(refusal))
		io.Copy(io.Discard, raw)
	}

	return conn, info, err
}

func (c lingeringCredentials) Clone() credentials.TransportCredentials {
	return lingeringCredentials{c.TransportCredentials.Clone()}
}

// heldConn stays open until it is released.
type heldConn struct {
	net.Conn

	released atomic.Bool
}

func (c *heldConn) Close() error {
	if !c.released.Load() {
		return nil
	}

	return c.Conn.Close()
}
