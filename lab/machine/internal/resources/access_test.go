package resources_test

import (
	"context"
	"testing"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func as(roles ...role.Role) context.Context {
	return authz.ContextWithRoles(context.Background(), role.MakeSet(roles...))
}

func TestWhoReadsWhat(t *testing.T) {
	m := newMachine(t)
	must(t, m.SetConfig(generated(t, machine.TypeControlPlane, named)))

	for name, test := range map[string]struct {
		ctx                 context.Context
		namespace, kind, id string
		want                codes.Code
	}{
		"reader, status":           {as(role.Reader), runtime.NamespaceName, runtime.MachineStatusType, runtime.MachineStatusID, codes.OK},
		"operator, status":         {as(role.Operator), runtime.NamespaceName, runtime.MachineStatusType, runtime.MachineStatusID, codes.OK},
		"backup, status":           {as(role.EtcdBackup), runtime.NamespaceName, runtime.MachineStatusType, runtime.MachineStatusID, codes.PermissionDenied},
		"nobody, status":           {context.Background(), runtime.NamespaceName, runtime.MachineStatusType, runtime.MachineStatusID, codes.PermissionDenied},
		"admin, config":            {as(role.Admin), config.NamespaceName, config.MachineConfigType, config.ActiveID, codes.OK},
		"reader, config":           {as(role.Reader), config.NamespaceName, config.MachineConfigType, config.ActiveID, codes.PermissionDenied},
		"operator, config":         {as(role.Operator), config.NamespaceName, config.MachineConfigType, config.ActiveID, codes.PermissionDenied},
		"operator, discovery key":  {as(role.Operator), config.NamespaceName, cluster.ConfigType, cluster.ConfigID, codes.PermissionDenied},
		"admin, authority":         {as(role.Admin), secrets.NamespaceName, secrets.OSRootType, secrets.OSRootID, codes.OK},
		"reader, authority":        {as(role.Reader), secrets.NamespaceName, secrets.OSRootType, secrets.OSRootID, codes.PermissionDenied},
		"admin, unknown ID":        {as(role.Admin), config.NamespaceName, config.MachineConfigType, "other", codes.NotFound},
		"admin, unknown type":      {as(role.Admin), runtime.NamespaceName, "Widgets.example.org", "x", codes.PermissionDenied},
		"admin, unknown namespace": {as(role.Admin), "elsewhere", runtime.MachineStatusType, runtime.MachineStatusID, codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Server().Get(test.ctx, &cosi.GetRequest{Namespace: test.namespace, Type: test.kind, Id: test.id})

			if got := status.Code(err); got != test.want {
				t.Errorf("got %s (%v), want %s", got, err, test.want)
			}
		})
	}
}

func TestNobodyWrites(t *testing.T) {
	m := newMachine(t)

	_, err := m.Server().Destroy(as(role.Admin), &cosi.DestroyRequest{
		Namespace: runtime.NamespaceName, Type: runtime.MachineStatusType, Id: runtime.MachineStatusID,
	})

	if got := status.Code(err); got != codes.PermissionDenied || status.Convert(err).Message() != "write access is not allowed" {
		t.Errorf("got %v", err)
	}

	if !there[*runtime.MachineStatus](t, m.State(), runtime.MachineStatusID) {
		t.Error("it is gone")
	}
}
