package apid

import (
	"log"

	"firstlight.dev/lab/machine/internal/apid/serving"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
)

// MachinedServer is the server that machined registers its services on: it believes the roles that apid found, and
// lets a call through if one of them may make it. Handlers read the roles by authz.GetRoles. The log may be nil.
//
// It must be reachable by apid alone, so by no port: whoever can connect says his own roles.
func MachinedServer(logger *log.Logger, options ...grpc.ServerOption) *grpc.Server {
	roles := &authz.Injector{Mode: authz.MetadataOnly}
	rules := &authz.Authorizer{Rules: Rules(), FallbackRoles: role.MakeSet(role.Admin)}

	defaults := append(serving.Options(logger, roles, rules),
		grpc.MaxRecvMsgSize(constants.GRPCMaxMessageSize),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
	)

	return grpc.NewServer(append(defaults, options...)...)
}
