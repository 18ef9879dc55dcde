package machined

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/cluster"
	"github.com/siderolabs/talos/pkg/cluster/check"
	"github.com/siderolabs/talos/pkg/conditions"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	k8s "github.com/siderolabs/talos/pkg/kubernetes"
	clusterapi "github.com/siderolabs/talos/pkg/machinery/api/cluster"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	configmachine "github.com/siderolabs/talos/pkg/machinery/config/machine"
	clusterres "github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"firstlight.dev/lab/machine/internal/machine"
	"firstlight.dev/lab/machine/internal/pki"
)

// HealthCheck runs Talos's own checks from this machine.
func (s *Server) HealthCheck(in *clusterapi.HealthCheckRequest, out clusterapi.ClusterService_HealthCheckServer) error {
	if err := s.requireControlPlane("cluster health check"); err != nil {
		return err
	}

	// Calls to other machines have the rights of the caller, no more.
	own, err := connect(out.Context(), s.m, authz.GetRoles(out.Context()))
	if err != nil {
		return err
	}
	defer own.Close() //nolint:errcheck

	access := &kubernetesAccess{m: s.m, endpoint: in.GetClusterInfo().GetForceEndpoint()}
	defer access.K8sClose() //nolint:errcheck

	ctx, cancel := context.WithTimeout(out.Context(), in.GetWaitTimeout().AsDuration())
	defer cancel()

	nodes, err := s.nodes(ctx, in.GetClusterInfo())
	if err != nil {
		return err
	}

	addresses := make([]string, 0, len(nodes.Nodes()))
	for _, node := range nodes.Nodes() {
		addresses = append(addresses, node.InternalIP.String())
	}

	if err := say(out, fmt.Sprintf("discovered nodes: %q", addresses)); err != nil {
		return err
	}

	subject := struct {
		cluster.ClientProvider
		cluster.K8sProvider
		cluster.Info
	}{own, access, nodes}

	return check.Wait(ctx, &subject, append(check.DefaultClusterChecks(), check.ExtraClusterChecks()...), &teller{out: out})
}

// nodes are those that the caller names, else those that discovery knows.
func (s *Server) nodes(ctx context.Context, named *clusterapi.ClusterInfo) (cluster.Info, error) {
	if len(named.GetControlPlaneNodes())+len(named.GetWorkerNodes()) > 0 {
		controlPlanes, err := cluster.IPsToNodeInfos(named.GetControlPlaneNodes())
		if err != nil {
			return nil, err
		}

		workers, err := cluster.IPsToNodeInfos(named.GetWorkerNodes())
		if err != nil {
			return nil, err
		}

		return given{configmachine.TypeControlPlane: controlPlanes, configmachine.TypeWorker: workers}, nil
	}

	list, err := safe.StateListAll[*clusterres.Member](ctx, s.m.Resources.State())
	if err != nil {
		return nil, err
	}

	return check.NewDiscoveredClusterInfo(safe.ToSlice(list, func(m *clusterres.Member) *clusterres.Member { return m }))
}

type given map[configmachine.Type][]cluster.NodeInfo

func (g given) Nodes() []cluster.NodeInfo {
	return append(append([]cluster.NodeInfo(nil), g[configmachine.TypeControlPlane]...), g[configmachine.TypeWorker]...)
}

func (g given) NodesByType(t configmachine.Type) []cluster.NodeInfo { return g[t] }

// teller sends each line once.
type teller struct {
	out  clusterapi.ClusterService_HealthCheckServer
	last string
}

func (t *teller) Update(condition conditions.Condition) {
	if line := strings.TrimSpace(fmt.Sprintf("waiting for %s", conditions.StatusLine(condition))); line != t.last {
		t.last = line
		_ = say(t.out, line) // a caller who left ends the checks by the context
	}
}

func say(out clusterapi.ClusterService_HealthCheckServer, text string) error {
	return out.Send(&clusterapi.HealthCheckProgress{Message: text})
}

// ownClient is a client of this machine's own apid, which routes to the others.
type ownClient struct{ client *client.Client }

func connect(ctx context.Context, m *machine.Machine, roles role.Set) (*ownClient, error) {
	issued, err := pki.ClientConfiguration(m.Config(), roles, time.Hour)
	if err != nil {
		return nil, err
	}

	parsed, err := clientconfig.FromBytes(issued.Talosconfig)
	if err != nil {
		return nil, err
	}

	endpoint := fmt.Sprintf("%s:%d", m.Hardware.Loopback, m.Book.Port)

	c, err := client.New(ctx, client.WithConfig(parsed), client.WithEndpoints(endpoint))
	if err != nil {
		return nil, err
	}

	return &ownClient{c}, nil
}

// Client ignores endpoints: every machine is reached through this one.
func (c *ownClient) Client(...string) (*client.Client, error) { return c.client, nil }

// Close ends its connections.
func (c *ownClient) Close() error { return c.client.Close() }

// kubernetesAccess reaches the lab's API server where it really is, whatever the config says.
type kubernetesAccess struct {
	m        *machine.Machine
	endpoint string
	helper   *k8s.Client
}

func (k *kubernetesAccess) Kubeconfig(context.Context) ([]byte, error) {
	return pki.OwnKubeconfig(k.m.Config(), k.m.Book.API)
}

func (k *kubernetesAccess) K8sRestConfig(context.Context) (*rest.Config, error) {
	access, err := k.m.RestConfig()
	if err != nil {
		return nil, err
	}

	if k.endpoint != "" {
		access.Host = k.endpoint
	}

	return access, nil
}

func (k *kubernetesAccess) K8sClient(ctx context.Context) (*kubernetes.Clientset, error) {
	helper, err := k.K8sHelper(ctx)
	if err != nil {
		return nil, err
	}

	return helper.Clientset, nil
}

func (k *kubernetesAccess) K8sHelper(ctx context.Context) (*k8s.Client, error) {
	if k.helper != nil {
		return k.helper, nil
	}

	access, err := k.K8sRestConfig(ctx)
	if err != nil {
		return nil, err
	}

	k.helper, err = k8s.NewForConfig(access)

	return k.helper, err
}

func (k *kubernetesAccess) K8sClose() error {
	if k.helper == nil {
		return nil
	}

	return k.helper.Close()
}
