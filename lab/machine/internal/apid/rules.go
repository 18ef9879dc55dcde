package apid

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/role"
)

// Who may make a call. What readers may do, operators may too; and what operators may, administrators may.
var (
	admins    = role.MakeSet(role.Admin)
	operators = role.MakeSet(role.Admin, role.Operator)
	readers   = role.MakeSet(role.Admin, role.Operator, role.Reader)
	// maintainers are administrators, and in maintenance mode everybody: the handler knows the mode and must check it.
	maintainers = role.MakeSet(role.Admin, role.Reader)

	metaWriters    = role.MakeSet(role.Admin, role.MetaWriter)
	imageVerifiers = role.MakeSet(role.Admin, role.Operator, role.Reader, role.ImageVerifier)
	etcdReaders    = role.MakeSet(role.Admin, role.Operator, role.Reader, role.EtcdBackup)
	etcdBackups    = role.MakeSet(role.Admin, role.Operator, role.EtcdBackup)
)

// rules are those of Talos 1.14. Methods that are not here are for administrators.
var rules = []struct {
	service string
	callers role.Set
	methods []string
}{
	{"cluster.ClusterService", readers, []string{"HealthCheck"}},

	// What a single resource allows is decided by the service itself.
	{"cosi.resource.State", readers, []string{"Get", "List", "Watch"}},
	{"cosi.resource.State", admins, []string{"Create", "Destroy", "Teardown", "TeardownAndDestroy", "Update"}},

	{"inspect.InspectService", readers, []string{"ControllerRuntimeDependencies"}},

	{"machine.DebugService", admins, []string{"ContainerRun"}},

	{"machine.ImageService", imageVerifiers, []string{"Verify"}},
	{"machine.ImageService", readers, []string{"List"}},
	{"machine.ImageService", operators, []string{"Pull"}},
	{"machine.ImageService", admins, []string{"Import", "Remove"}},

	{"machine.LVMService", maintainers, []string{"LogicalVolumeRemove", "PhysicalVolumeRemove", "VolumeGroupRemove"}},
	{"machine.LifecycleService", admins, []string{"Install", "Upgrade"}},
	{"machine.MDService", maintainers, []string{"Destroy"}},

	{"machine.MachineService", readers, []string{
		"CPUFreqStats", "CPUInfo", "Containers", "DiskStats", "DiskUsage", "Dmesg", "Events", "Hostname", "ImageList",
		"List", "LoadAvg", "Logs", "LogsContainers", "Memory", "Mounts", "Netstat", "NetworkDeviceStats", "Processes",
		"ServiceList", "Stats", "SystemStat", "Version",
	}},
	{"machine.MachineService", operators, []string{
		"EtcdAlarmDisarm", "EtcdDefragment", "ImagePull", "PacketCapture", "Reboot", "Restart", "ServiceRestart",
		"ServiceStart", "ServiceStop", "Shutdown",
	}},
	{"machine.MachineService", admins, []string{
		"Bootstrap", "Copy", "EtcdDowngradeCancel", "EtcdDowngradeEnable", "EtcdDowngradeValidate",
		"EtcdForfeitLeadership", "EtcdLeaveCluster", "EtcdRecover", "EtcdRemoveMemberByID",
		"GenerateClientConfiguration", "Kubeconfig", "Read", "Reset", "Rollback", "Upgrade",
	}},
	{"machine.MachineService", maintainers, []string{"ApplyConfiguration"}},
	{"machine.MachineService", etcdReaders, []string{"EtcdAlarmList", "EtcdMemberList", "EtcdStatus"}},
	{"machine.MachineService", etcdBackups, []string{"EtcdSnapshot"}},
	{"machine.MachineService", metaWriters, []string{"MetaDelete", "MetaWrite"}},

	{"storage.StorageService", readers, []string{"Disks"}},
	{"storage.StorageService", maintainers, []string{"BlockDeviceWipe"}},

	{"time.TimeService", readers, []string{"Time", "TimeCheck"}},
}

// Rules are the roles that may call a method, by its full name.
func Rules() map[string]role.Set {
	byMethod := map[string]role.Set{}

	for _, rule := range rules {
		for _, method := range rule.methods {
			name := fmt.Sprintf("/%s/%s", rule.service, method)
			if _, twice := byMethod[name]; twice {
				panic("two rules for " + name)
			}

			byMethod[name] = rule.callers
		}
	}

	return byMethod
}
