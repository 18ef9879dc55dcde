package apid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/siderolabs/grpc-proxy/proxy"
	talosnet "github.com/siderolabs/net"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// remotes are the other machines that were called, by the target that was typed.
type remotes struct {
	addresses  *addresses
	identities *identities

	mu    sync.Mutex
	known map[string]*remote
}

// get makes no connection yet: whether the target exists is found out by the call.
func (r *remotes) get(target string) (proxy.Backend, error) {
	if target == "" || talosnet.AddressContainsPort(target) {
		return nil, fmt.Errorf("invalid target %q", target)
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	if known, ok := r.known[target]; ok {
		return known, nil
	}

	conn, err := r.connect(target)
	if err != nil {
		return nil, err
	}

	if r.known == nil {
		r.known = map[string]*remote{}
	}

	r.known[target] = &remote{target: target, conn: conn}

	return r.known[target], nil
}

func (r *remotes) connect(target string) (*grpc.ClientConn, error) {
	// A machine that comes back from a reboot is to be found soon. Talos waits for 15 s at most, and its machines boot
	// for minutes; these boot in a second.
	pauses := backoff.DefaultConfig
	pauses.MaxDelay = 2 * time.Second

	return grpc.NewClient(
		fmt.Sprintf("passthrough:///%s:%d", talosnet.FormatAddress(target), r.addresses.book.Port),
		grpc.WithContextDialer(r.addresses.dial),
		grpc.WithTransportCredentials(newFreshCredentials(r.identities)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: 20 * time.Second}),
		grpc.WithIdleTimeout(15*time.Minute),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connectionWindow),
		grpc.WithSharedWriteBuffer(true),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(constants.GRPCMaxMessageSize),
			grpc.ForceCodecV2(proxy.Codec()),
		),
	)
}

func (r *remotes) close() {
	r.mu.Lock()
	defer r.mu.Unlock()

	for _, known := range r.known {
		known.conn.Close()
	}

	r.known = nil
}

// remote is apid of another machine, or of this one under a name that was asked for.
type remote struct {
	target string
	conn   *grpc.ClientConn
}

func (r *remote) String() string { return r.target }

// GetConnection hands the roles of the caller on. The other side believes them because of our client certificate, and
// does not route the call again because of "proxyfrom".
func (r *remote) GetConnection(ctx context.Context, _ string) (context.Context, *grpc.ClientConn, error) {
	incoming, _ := metadata.FromIncomingContext(ctx)
	outgoing := incoming.Copy()
	authz.SetMetadata(outgoing, authz.GetRoles(ctx))

	if authority := outgoing.Get(":authority"); len(authority) > 0 {
		outgoing.Set("proxyfrom", authority...)
	} else {
		outgoing.Set("proxyfrom", "unknown")
	}

	for _, used := range []string{":authority", "node", "nodes"} {
		outgoing.Delete(used)
	}

	return metadata.NewOutgoingContext(ctx, outgoing), r.conn, nil
}

// The replies of one call to many machines are joined byte by byte, which protobuf allows: every reply of Talos is
//
//	message Reply { repeated Message messages = 1; }   message Message { common.Metadata metadata = 1; … }
//
// so a joined reply has more messages, and a message gets its metadata by more bytes at its end. Streamed replies are
// bare Messages.
const messagesField = protowire.Number(1)

// AppendInfo says in the reply which machine it is from.
func (r *remote) AppendInfo(streaming bool, reply []byte) ([]byte, error) {
	info, err := proto.Marshal(&common.Empty{Metadata: &common.Metadata{Hostname: r.target}})
	if err != nil {
		return nil, err
	}

	if streaming {
		return append(reply, info...), nil
	}

	number, kind, tag := protowire.ConsumeTag(reply)
	if tag < 0 {
		return nil, protowire.ParseError(tag)
	}

	if number != messagesField || kind != protowire.BytesType {
		return nil, fmt.Errorf("unexpected message format: field %d of type %d", number, kind)
	}

	message, length := protowire.ConsumeBytes(reply[tag:])
	if length < 0 {
		return nil, protowire.ParseError(length)
	}

	if tag+length != len(reply) {
		return nil, errors.New("unexpected message format: more than one message in the reply of one machine")
	}

	joined := protowire.AppendTag(nil, messagesField, protowire.BytesType)
	joined = protowire.AppendVarint(joined, uint64(len(message)+len(info)))

	return append(append(joined, message...), info...), nil
}

// BuildError makes a reply out of the error of one machine, so that the replies of the others are not lost.
func (r *remote) BuildError(streaming bool, err error) ([]byte, error) {
	failed := &common.Empty{Metadata: &common.Metadata{
		Hostname: r.target,
		Error:    err.Error(),
		Status:   status.Convert(err).Proto(),
	}}

	if streaming {
		return proto.Marshal(failed)
	}

	return proto.Marshal(&common.EmptyResponse{Messages: []*common.Empty{failed}})
}
