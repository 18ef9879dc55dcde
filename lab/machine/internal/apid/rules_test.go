package apid_test

import (
	"testing"

	"firstlight.dev/lab/machine/internal/apid"
	"github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/api/cluster"
	"github.com/siderolabs/talos/pkg/machinery/api/inspect"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/api/storage"
	"github.com/siderolabs/talos/pkg/machinery/api/time"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
)

// A rule with a typo would leave its method to administrators, and nobody would notice.
func TestRulesAreAboutMethodsThatExist(t *testing.T) {
	exists := map[string]bool{}

	for _, service := range []grpc.ServiceDesc{
		cluster.ClusterService_ServiceDesc,
		inspect.InspectService_ServiceDesc,
		machine.DebugService_ServiceDesc,
		machine.ImageService_ServiceDesc,
		machine.LVMService_ServiceDesc,
		machine.LifecycleService_ServiceDesc,
		machine.MDService_ServiceDesc,
		machine.MachineService_ServiceDesc,
		storage.StorageService_ServiceDesc,
		time.TimeService_ServiceDesc,
		v1alpha1.State_ServiceDesc,
	} {
		for _, method := range service.Methods {
			exists["/"+service.ServiceName+"/"+method.MethodName] = true
		}

		for _, stream := range service.Streams {
			exists["/"+service.ServiceName+"/"+stream.StreamName] = true
		}
	}

	rules := apid.Rules()
	if len(rules) != 80 { // as many as Talos 1.14 has
		t.Errorf("%d rules", len(rules))
	}

	for method, callers := range rules {
		if !exists[method] {
			t.Errorf("no method %s", method)
		}

		if !callers.Includes(role.Admin) {
			t.Errorf("administrators may not call %s", method)
		}
	}

	// Those that a reader must not have, whatever else changes here.
	for _, method := range []string{"Bootstrap", "Kubeconfig", "Read", "Reset", "Reboot", "GenerateClientConfiguration", "EtcdSnapshot"} {
		if rules["/machine.MachineService/"+method].Includes(role.Reader) {
			t.Errorf("readers may call %s", method)
		}
	}
}
