package apid

import (
	"context"
	"slices"
	"strings"

	"github.com/siderolabs/grpc-proxy/proxy"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// router decides where a call goes. The client says it in the metadata: "node" is one machine whose reply is passed on
// as it is, "nodes" are some whose replies are joined; without them it is this machine.
type router struct {
	local     *local
	remotes   *remotes
	addresses *addresses
	// disabled is for maintenance mode: whatever is asked for, this machine answers.
	disabled bool
}

func (r *router) direct(ctx context.Context, method string) (proxy.Mode, []proxy.Backend, error) {
	here := []proxy.Backend{r.local}

	asked, ok := metadata.FromIncomingContext(ctx)
	if r.disabled || !ok {
		return proxy.One2One, here, nil
	}

	if _, routed := asked["proxyfrom"]; routed {
		return proxy.One2One, here, nil
	}

	node, toOne := asked["node"]
	nodes, toMany := asked["nodes"]

	if toOne && len(node) != 1 {
		return proxy.One2One, nil, status.Error(codes.InvalidArgument, "node metadata must be single-valued")
	}

	canRoute := r.remotes.identities.canRoute()
	if !canRoute {
		// A machine that cannot route answers for itself even so.
		toOne = toOne && !r.addresses.isOwn(node[0])
		toMany = toMany && !(len(nodes) == 1 && r.addresses.isOwn(nodes[0]))
	}

	if !toOne && !toMany {
		return proxy.One2One, here, nil
	}

	mode, targets := proxy.One2One, node

	if toMany {
		if !canBeJoined(method) {
			return proxy.One2One, nil, status.Errorf(codes.InvalidArgument, "one-2-many proxying is not supported for method %s", method)
		}

		mode, targets = proxy.One2Many, nodes
	}

	if !canRoute {
		return mode, nil, status.Error(codes.PermissionDenied, "no request forwarding")
	}

	backends := make([]proxy.Backend, 0, len(targets))

	for _, target := range targets {
		backend, err := r.remotes.get(target)
		if err != nil {
			return mode, nil, status.Error(codes.Internal, err.Error())
		}

		backends = append(backends, backend)
	}

	return mode, backends, nil
}

// joined are the services whose replies have the form that allows joining them.
var joined = []string{
	"/machine.MachineService/",
	"/cluster.ClusterService/",
	"/inspect.InspectService/",
	"/storage.StorageService/",
	"/time.TimeService/",
}

func canBeJoined(method string) bool {
	return slices.ContainsFunc(joined, func(service string) bool { return strings.HasPrefix(method, service) })
}

// streamed are the methods that answer with a stream. Newer ones say so by the end of their name.
var streamed = map[string]bool{
	"/machine.MachineService/Copy":           true,
	"/machine.MachineService/DebugContainer": true,
	"/machine.MachineService/DiskUsage":      true,
	"/machine.MachineService/Dmesg":          true,
	"/machine.MachineService/EtcdSnapshot":   true,
	"/machine.MachineService/Events":         true,
	"/machine.MachineService/ImageList":      true,
	"/machine.MachineService/Kubeconfig":     true,
	"/machine.MachineService/List":           true,
	"/machine.MachineService/Logs":           true,
	"/machine.MachineService/PacketCapture":  true,
	"/machine.MachineService/Read":           true,
	"/machine.LifecycleService/Install":      true,
	"/machine.LifecycleService/Upgrade":      true,
	"/os.OSService/Dmesg":                    true,
	"/cluster.ClusterService/HealthCheck":    true,
}

func isStreamed(method string) bool {
	return streamed[method] || strings.HasSuffix(method, "Stream")
}
