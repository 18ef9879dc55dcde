package apid

import (
	"context"
	"net"
	"sync"

	"github.com/siderolabs/grpc-proxy/proxy"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// local is machined of this machine. Its replies are passed on as they are.
type local struct {
	dial func(context.Context) (net.Conn, error)

	mu   sync.Mutex
	conn *grpc.ClientConn
}

func (l *local) String() string { return "machined" }

// GetConnection tells machined the roles of the caller; what the caller itself said about them is overwritten.
func (l *local) GetConnection(ctx context.Context, _ string) (context.Context, *grpc.ClientConn, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	outgoing := incoming.Copy()
	authz.SetMetadata(outgoing, authz.GetRoles(ctx))

	conn, err := l.connection()

	return metadata.NewOutgoingContext(ctx, outgoing), conn, err
}

func (l *local) connection() (*grpc.ClientConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.conn != nil {
		return l.conn, nil
	}

	conn, err := grpc.NewClient("passthrough:///machined",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.dial(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithSharedWriteBuffer(true),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(constants.GRPCMaxMessageSize),
			grpc.ForceCodecV2(proxy.Codec()),
		),
	)
	if err != nil {
		return nil, err
	}

	l.conn = conn

	return conn, nil
}

func (l *local) AppendInfo(_ bool, reply []byte) ([]byte, error) { return reply, nil }

// BuildError leaves errors alone: they are the whole answer of a call to one machine.
func (l *local) BuildError(bool, error) ([]byte, error) { return nil, nil }

func (l *local) close() {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.conn != nil {
		l.conn.Close()
	}
}
