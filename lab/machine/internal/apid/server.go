// Package apid is the API of a machine as clients see it: TLS, roles, and the routing of calls to other machines.
//
// What the calls do is not here: those for this machine go on to machined, over a connection inside the process.
package apid

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"strconv"
	"time"

	"firstlight.dev/lab/machine/internal/apid/serving"
	"firstlight.dev/lab/machine/internal/book"
	"firstlight.dev/lab/machine/internal/ownuser"
	"github.com/siderolabs/grpc-proxy/proxy"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// Options is what apid needs to know.
type Options struct {
	// Loopback is the address to listen on; the port is the book's.
	Loopback string
	Book     *book.Book
	// Resolve finds machines by names that the book does not have, such as hostnames from configs. May be nil.
	Resolve func(name string) (loopback string, ok bool)

	// Maintenance is how a machine without a config serves: everybody is a reader, and nothing is routed.
	// Everybody is the user of the lab.
	Maintenance bool
	// Certificates are asked for at every handshake, so they can be renewed at any time. Without a client certificate,
	// as on workers, calls are not routed to other machines.
	Certificates func() *secrets.APICertsSpec

	// Local opens a connection to machined.
	Local func(context.Context) (net.Conn, error)

	// Log may be nil.
	Log *log.Logger
	// Grace is how long calls in flight may go on after Serve; 0 is as long as Talos allows.
	Grace time.Duration
}

// Server is an apid. Its Serve and Drained are those of serving.Server.
type Server = serving.Server

// Listen opens the port. Clients can connect from then on, and are answered once Serve runs.
func Listen(ctx context.Context, o Options) (*Server, error) {
	if o.Book == nil || o.Local == nil || o.Certificates == nil {
		return nil, errors.New("apid needs a book, certificates and a connection to machined")
	}

	identities := &identities{load: o.Certificates}
	if _, err := identities.current(); err != nil {
		return nil, err
	}

	addresses := &addresses{book: o.Book, resolve: o.Resolve, own: o.Loopback}
	local := &local{dial: o.Local}
	remotes := &remotes{addresses: addresses, identities: identities}
	router := &router{local: local, remotes: remotes, addresses: addresses, disabled: o.Maintenance}

	roles := &authz.Injector{Mode: authz.Enabled}
	if o.Maintenance {
		roles.Mode = authz.ReadOnly
	}

	options := append(serving.Options(o.Log, roles),
		grpc.Creds(lingeringCredentials{credentials.NewTLS(identities.serverConfig(o.Maintenance))}),
		grpc.ForceServerCodecV2(proxy.Codec()),
		grpc.UnknownServiceHandler(proxy.TransparentHandler(router.direct, proxy.WithStreamedDetector(isStreamed))),
		grpc.MaxRecvMsgSize(constants.GRPCMaxMessageSize),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
	)

	address := net.JoinHostPort(o.Loopback, strconv.Itoa(o.Book.Port))

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("apid: %w", err)
	}

	if o.Maintenance {
		// Whoever comes first configures the machine. On a network of its own that is its owner; here others share it.
		listener = ownuser.Listener(listener, func(remote net.Addr) {
			if o.Log != nil {
				o.Log.Printf("%s was not answered: another user of this computer", remote)
			}
		})
	}

	grace := o.Grace
	if grace == 0 {
		grace = serving.Grace
	}

	return serving.New(listener, grpc.NewServer(options...), grace, func() {
		local.close()
		remotes.close()
	}), nil
}

// The windows are Talos's: its logs and snapshots are long streams.
const (
	streamWindow     = 65535 * 32
	connectionWindow = 65535 * 16
)
