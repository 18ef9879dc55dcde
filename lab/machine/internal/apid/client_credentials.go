package apid

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
)

// freshCredentials are the client's side of TLS with the certificates of the moment of the handshake. Connections to
// other machines live long, and are opened again with certificates that were renewed meanwhile.
type freshCredentials struct {
	credentials.TransportCredentials // only for what it says about itself

	identities *identities
}

func newFreshCredentials(identities *identities) credentials.TransportCredentials {
	return &freshCredentials{TransportCredentials: credentials.NewTLS(baseConfig()), identities: identities}
}

func (c *freshCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := c.identities.clientConfig()
	if err != nil {
		return nil, nil, err
	}

	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

func (c *freshCredentials) Clone() credentials.TransportCredentials {
	return newFreshCredentials(c.identities)
}
