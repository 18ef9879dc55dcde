package resources_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/emptypb"

	"firstlight.dev/lab/machine/internal/resources"
)

// talosctl is the real one: FIRSTLIGHT_TALOSCTL, or what the lab has installed.
func talosctl(t *testing.T) string {
	t.Helper()

	if program := os.Getenv("FIRSTLIGHT_TALOSCTL"); program != "" {
		return program
	}

	cache, err := os.UserCacheDir()
	must(t, err)

	found, err := filepath.Glob(filepath.Join(cache, "firstlight", "bin", "talosctl", "*", "talosctl"))
	must(t, err)

	if len(found) == 0 {
		t.Skip("no talosctl: set FIRSTLIGHT_TALOSCTL, or let `make demo` install one")
	}

	slices.Sort(found)

	return found[len(found)-1]
}

// versions is all of the machine's API that `talosctl get` needs besides the state.
type versions struct {
	machineapi.UnimplementedMachineServiceServer
}

func (versions) Version(context.Context, *emptypb.Empty) (*machineapi.VersionResponse, error) {
	return &machineapi.VersionResponse{Messages: []*machineapi.Version{{
		Metadata: &common.Metadata{Hostname: "10.5.0.2"},
		Version:  &machineapi.VersionInfo{Tag: "v1.13.0"},
		Platform: &machineapi.PlatformInfo{Name: "metal", Mode: "metal"},
	}}}, nil
}

// endpoint serves a state on a loopback address of its own, to clients of one role, as apid does in maintenance.
func endpoint(t *testing.T, last int, server cosi.StateServer, callers role.Role) string {
	t.Helper()

	address := fmt.Sprintf("127.74.%d.%d", os.Getpid()%250+1, last)

	listener, err := net.Listen("tcp", net.JoinHostPort(address, "50000"))
	must(t, err)

	roles := role.MakeSet(callers)

	s := grpc.NewServer(
		grpc.Creds(credentials.NewServerTLSFromCert(selfSigned(t))),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			return handler(authz.ContextWithRoles(ctx, roles), req)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			return handler(srv, roleStream{stream, authz.ContextWithRoles(stream.Context(), roles)})
		}),
	)

	cosi.RegisterStateServer(s, server)
	machineapi.RegisterMachineServiceServer(s, versions{})

	go s.Serve(listener) //nolint:errcheck // ends with Stop

	t.Cleanup(s.Stop)

	return address
}

type roleStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s roleStream) Context() context.Context { return s.ctx }

func selfSigned(t *testing.T) *tls.Certificate {
	t.Helper()

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)

	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)

	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// run is `talosctl get --insecure`.
func run(t *testing.T, program, address string, args ...string) (stdout, stderr string, err error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	cmd := exec.CommandContext(ctx, program, append([]string{"get", "--insecure", "-n", address, "-e", address}, args...)...)
	// No config of the user is read or written.
	cmd.Env = append(os.Environ(), "TALOSCONFIG="+filepath.Join(t.TempDir(), "none"), "HOME="+t.TempDir())

	var out, errs strings.Builder

	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()

	return out.String(), errs.String(), err
}

// parse is the specs of `-o json` by ID. talosctl prints IDs that look like numbers as such.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()

	out := map[string]any{}

	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var r struct {
			Metadata struct{ ID any }
			Spec     any
		}

		err := decoder.Decode(&r)
		if err == io.EOF {
			return out
		}

		must(t, err)

		out[fmt.Sprint(r.Metadata.ID)] = r.Spec
	}
}

// at walks into a printed spec: "status.ready", "addresses.0".
func at(value any, path string) string {
	for _, step := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
				return "<none>"
			}

			value = v[i]
		default:
			return "<none>"
		}
	}

	return fmt.Sprint(value)
}

// The types are named as people name them, so that aliases are tried too.
func TestTalosctlGet(t *testing.T) {
	program := talosctl(t)

	m := newMachine(t)
	settle(t, m, generated(t, machine.TypeControlPlane, named))

	reader := endpoint(t, 1, m.Server(), role.Reader)
	admin := endpoint(t, 2, m.Server(), role.Admin)

	for _, test := range []struct {
		kind, id string
		want     map[string]string // path in the spec: value
	}{
		{"rd", "members.cluster.talos.dev", map[string]string{"defaultNamespace": "cluster"}},
		{"namespaces", "controlplane", map[string]string{"description": "Kubernetes control plane resources."}},
		{"members", "cp-1", map[string]string{"addresses.0": "10.5.0.2", "machineType": "controlplane", "operatingSystem": "Talos (v1.13.0)"}},
		{"members", "worker-1", map[string]string{"addresses.0": "10.5.0.4", "machineType": "worker"}},
		{"affiliates", m.Identity(), map[string]string{"nodename": "cp-1", "controlPlane.port": "6443"}},
		{"identity", "local", map[string]string{"nodeId": m.Identity()}},
		{"infos", "current", map[string]string{"clusterName": "lab"}},
		{"machinestatus", "machine", map[string]string{"stage": "running", "status.ready": "true"}},
		{"machinetype", "machine-type", nil},
		{"disks", "nvme0n1", map[string]string{"dev_path": "/dev/nvme0n1", "transport": "nvme", "pretty_size": "69 GB"}},
		{"disks", "sda", map[string]string{"rotational": "true", "model": "Big Disk", "serial": "S456"}},
		{"systemdisk", "system-disk", map[string]string{"diskID": "nvme0n1"}},
		{"discoveredvolumes", "nvme0n1p4", map[string]string{"partition_label": "EPHEMERAL", "name": "xfs"}},
		{"volumestatus", "EPHEMERAL", map[string]string{"phase": "ready", "location": "/dev/nvme0n1p4"}},
		{"blockdevices", "nvme0n1p2", map[string]string{"partitionName": "META"}},
		{"links", "eth0", map[string]string{"hardwareAddr": "52:54:00:12:34:56", "operationalState": "up", "linkState": "true", "speedMbit": "10000"}},
		{"links", "eth1", map[string]string{"operationalState": "down", "linkState": "false"}},
		{"links", "lo", map[string]string{"type": "loopback"}},
		{"addresses", "eth0/10.5.0.2/24", map[string]string{"linkName": "eth0", "scope": "global", "family": "inet4"}},
		{"addresses", "eth0/fe80::5054:ff:fe12:3456/64", map[string]string{"scope": "link"}},
		{"nodeaddress", "default", map[string]string{"addresses.0": "10.5.0.2/24"}},
		{"nodeaddress", "routed-no-k8s", map[string]string{"addresses.0": "10.5.0.2/24"}},
		{"hostname", "hostname", map[string]string{"hostname": "cp-1", "domainname": "lab.example"}},
		{"nodename", "nodename", map[string]string{"nodename": "cp-1", "hostnameVersion": "1"}},
		{"nodeips", "kubelet", map[string]string{"addresses.0": "10.5.0.2"}},
		{"services", "etcd", map[string]string{"running": "true", "healthy": "true", "unknown": "false"}},
		{"routes", "inet4/10.5.0.1//1024", map[string]string{"gateway": "10.5.0.1", "outLinkName": "eth0"}},
		{"resolvers", "resolvers", map[string]string{"dnsServers.0": "1.1.1.1"}},
		{"timeserver", "timeservers", map[string]string{"timeServers.0": "time.cloudflare.com"}},
		{"timestatus", "node", map[string]string{"synced": "true"}},
		{"networkstatus", "status", map[string]string{"addressReady": "true", "connectivityReady": "true", "hostnameReady": "true", "etcFilesReady": "true"}},
		{"systeminformation", "systeminformation", map[string]string{"uuid": "5e7f3b52-7ad1-4c6b-9c5e-0b1b1c9c1a01"}},
		{"processors", "CPU-0", map[string]string{"coreCount": "8", "threadCount": "8"}},
		{"memorymodules", "DIMM-0", map[string]string{"sizeMiB": "32768"}},
		{"memorystats", "latest", map[string]string{"total": "3.3554432e+07"}},
		{"diagnostics", "kubelet-csr", map[string]string{"details.0": "pending CSRs: a"}},
		{"staticpods", "kube-apiserver", map[string]string{"metadata.annotations.talos.dev/config-version": "1", "spec.hostNetwork": "true"}},
		{"staticpodstatus", "kube-system/kube-apiserver-cp-1", map[string]string{"phase": "Running", "hostIP": "10.5.0.2"}},
		{"nodestatus", "cp-1", map[string]string{"nodeReady": "true", "podCIDRs.0": "10.244.0.0/24"}},
		{"etcdmember", "local", map[string]string{"memberID": "0000000000a1b2c3"}},
		{"etcdspecs", "etcd", map[string]string{"name": "cp-1", "advertisedAddresses.0": "10.5.0.2"}},
		{"securitystate", "securitystate", map[string]string{"secureBoot": "false", "bootedWithUKI": "true"}},
		{"platformmetadata", "platformmetadata", map[string]string{"platform": "metal", "instanceId": "5e7f3b52-7ad1-4c6b-9c5e-0b1b1c9c1a01"}},
		{"version", "version", map[string]string{"version": "v1.13.0"}},
		{"extensions", "0", map[string]string{"metadata.name": "schematic"}},
		{"kernelparams", "proc.sys.net.ipv4.ip_forward", map[string]string{"current": "1"}},
		{"cmdline", "cmdline", nil},
		{"meta", "10", map[string]string{"value": "x"}},
		{"kubeletstatus", "kubelet", nil},
	} {
		t.Run(test.kind+" "+test.id, func(t *testing.T) {
			t.Parallel()

			out, errs, err := run(t, program, reader, test.kind, "-o", "json")
			if err != nil {
				t.Fatalf("%v: %s", err, errs)
			}

			found, ok := parse(t, out)[test.id]
			if !ok {
				t.Fatalf("no %s in:\n%s", test.id, out)
			}

			for path, want := range test.want {
				if got := walk(found, path); got != want {
					t.Errorf("%s is %q, want %q", path, got, want)
				}
			}
		})
	}

	for _, kind := range []string{"machineconfig", "osrootsecret", "etcdrootsecret", "kubernetesrootsecret", "discoveryconfig", "linkspecs", "nodelabelspecs", "nodetaintspecs"} {
		t.Run("sensitive "+kind, func(t *testing.T) {
			t.Parallel()

			if _, errs, err := run(t, program, reader, kind); err == nil || !strings.Contains(errs, "not authorized") {
				t.Errorf("a reader gets %s: %v %s", kind, err, errs)
			}

			if out, errs, err := run(t, program, admin, kind, "-o", "yaml"); err != nil || !strings.Contains(out, "spec:") {
				t.Errorf("an administrator does not get %s: %v %s %s", kind, err, errs, out)
			}
		})
	}

	t.Run("a config comes back as it was", func(t *testing.T) {
		t.Parallel()

		out, errs, err := run(t, program, admin, "machineconfig", "v1alpha1", "-o", "yaml")
		if err != nil || !strings.Contains(out, "type: controlplane") || !strings.Contains(out, "hostname: cp-1.lab.example") {
			t.Errorf("%v %s %s", err, errs, out)
		}
	})

	// As with Talos: the name stands for processors and for their load.
	t.Run("a name of two types", func(t *testing.T) {
		t.Parallel()

		if _, errs, err := run(t, program, admin, "cpus"); err == nil || !strings.Contains(errs, "is ambiguous") {
			t.Errorf("%v %s", err, errs)
		}
	})

	t.Run("a type that is not", func(t *testing.T) {
		t.Parallel()

		if _, errs, err := run(t, program, admin, "widgets"); err == nil || !strings.Contains(errs, `resource "widgets" is not registered`) {
			t.Errorf("%v %s", err, errs)
		}
	})
}

// walk is at, with keys that have dots in them.
func walk(spec any, path string) string {
	if before, after, ok := strings.Cut(path, "annotations."); ok {
		notes := spec

		for _, step := range strings.Split(before+"annotations", ".") {
			object, _ := notes.(map[string]any)
			notes = object[step]
		}

		object, _ := notes.(map[string]any)

		return fmt.Sprint(object[after])
	}

	return at(spec, path)
}

func TestTalosctlGetInMaintenance(t *testing.T) {
	program := talosctl(t)

	m := newMachine(t)
	address := endpoint(t, 3, m.Server(), role.Reader)

	out, errs, err := run(t, program, address, "disks", "-o", "json")
	if err != nil || len(parse(t, out)) != 2 {
		t.Errorf("%v: %s%s", err, out, errs)
	}

	for _, kind := range []string{"members", "nodename", "systemdisk", "services"} {
		if out, errs, err := run(t, program, address, kind, "-o", "json"); err != nil || len(parse(t, out)) != 0 {
			t.Errorf("%s: %v: %s%s", kind, err, out, errs)
		}
	}

	must(t, m.SetConfig(generated(t, machine.TypeWorker)))

	want := resources.StableHostname(resources.NodeID(hardware().UUID))

	out, errs, err = run(t, program, address, "nodename", "-o", "json")
	if err != nil || at(parse(t, out)["nodename"], "nodename") != want {
		t.Errorf("%v: %s%s, want %s", err, out, errs, want)
	}
}
