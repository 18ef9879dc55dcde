package apid_test

import (
	"context"
	"crypto/tls"
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"firstlight.dev/lab/machine/internal/apid"
	"firstlight.dev/lab/machine/internal/book"
	"firstlight.dev/lab/machine/internal/pki"
	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	gensecrets "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"
)

// lab is some machines on loopback addresses with a CA of their own.
type lab struct {
	t    *testing.T
	book *book.Book
	root *secrets.OSRootSpec
}

// newLab has machines a, b, c, d at 127.83.0.1… with the declared addresses 10.5.0.1…; none of them runs yet.
func newLab(t *testing.T) *lab {
	t.Helper()

	ca := newCA(t)
	l := &lab{
		t:    t,
		book: &book.Book{Port: freePort(t)},
		root: &secrets.OSRootSpec{IssuingCA: ca, AcceptedCAs: []*x509.PEMEncodedCertificate{{Crt: ca.Crt}}, Token: "token"},
	}

	for i, name := range []string{"a", "b", "c", "d"} {
		l.book.Machines = append(l.book.Machines, book.Entry{
			Name:     name,
			Loopback: fmt.Sprintf("127.83.0.%d", i+1),
			Declared: fmt.Sprintf("10.5.0.%d", i+1),
		})
	}

	return l
}

func newCA(t *testing.T) *x509.PEMEncodedCertificateAndKey {
	t.Helper()

	ca, err := gensecrets.NewTalosCA(time.Now())
	check(t, err)

	return x509.NewCertificateAndKeyFromCertificateAuthority(ca)
}

func freePort(t *testing.T) int {
	t.Helper()

	listener, err := net.Listen("tcp", "127.83.0.1:0")
	check(t, err)

	defer listener.Close()

	return listener.Addr().(*net.TCPAddr).Port
}

func check(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

func (l *lab) entry(name string) book.Entry {
	entry, ok := l.book.Find(name)
	if !ok {
		l.t.Fatalf("no machine %s", name)
	}

	return entry
}

func (l *lab) certificates(name string) *secrets.APICertsSpec {
	l.t.Helper()

	certificates, err := pki.ControlPlane(l.root, pki.SANs(l.root, l.names(name)))
	check(l.t, err)

	return certificates
}

func (l *lab) names(name string) pki.Names {
	entry := l.entry(name)

	return pki.Names{
		Hostname:  "host-" + name,
		Machine:   name,
		Addresses: []netip.Addr{netip.MustParseAddr(entry.Declared), netip.MustParseAddr(entry.Loopback)},
	}
}

// start runs a machine with certificates of a control plane, unless change says otherwise. stop returns when its port
// is free.
func (l *lab) start(name string, change ...func(*apid.Options)) (server *apid.Server, stop func()) {
	l.t.Helper()

	local := bufconn.Listen(1 << 16)
	machined := apid.MachinedServer(nil)
	machine.RegisterMachineServiceServer(machined, &fakeMachined{name: name})

	go machined.Serve(local)

	certificates := l.certificates(name)
	options := apid.Options{
		Loopback:     l.entry(name).Loopback,
		Book:         l.book,
		Certificates: func() *secrets.APICertsSpec { return certificates },
		Local:        local.DialContext,
		Grace:        time.Second,
	}

	for _, c := range change {
		c(&options)
	}

	ctx, cancel := context.WithCancel(l.t.Context())

	server, err := apid.Listen(ctx, options)
	check(l.t, err)

	served := make(chan error, 1)

	go func() { served <- server.Serve(ctx) }()

	stopped := false
	stop = func() {
		if stopped {
			return
		}

		stopped = true

		cancel()

		if err := <-served; err != nil {
			l.t.Errorf("serving %s: %s", name, err)
		}
	}

	l.t.Cleanup(func() {
		stop()
		<-server.Drained()
		machined.Stop()
	})

	return server, stop
}

// user is a client certificate with roles.
func (l *lab) user(roles ...role.Role) tls.Certificate {
	l.t.Helper()

	return l.userUntil(l.root.IssuingCA, time.Now(), time.Hour, roles...)
}

func (l *lab) userUntil(ca *x509.PEMEncodedCertificateAndKey, from time.Time, ttl time.Duration, roles ...role.Role) tls.Certificate {
	l.t.Helper()

	pem, err := gensecrets.NewAdminCertificateAndKey(from, ca, role.MakeSet(roles...), ttl)
	check(l.t, err)

	pair, err := tls.X509KeyPair(pem.Crt, pem.Key)
	check(l.t, err)

	return pair
}

// client connects to a machine and checks its certificate.
func (l *lab) client(name string, certificates ...tls.Certificate) machine.MachineServiceClient {
	l.t.Helper()

	roots := stdx509.NewCertPool()
	roots.AppendCertsFromPEM(pki.Bundle(l.root.AcceptedCAs))

	return l.dial(name, &tls.Config{RootCAs: roots, Certificates: certificates})
}

func (l *lab) dial(name string, config *tls.Config) machine.MachineServiceClient {
	l.t.Helper()

	conn, err := grpc.NewClient(
		net.JoinHostPort(l.entry(name).Loopback, strconv.Itoa(l.book.Port)),
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
	)
	check(l.t, err)

	l.t.Cleanup(func() { conn.Close() })

	return machine.NewMachineServiceClient(conn)
}

// wantCode fails unless err has the code.
func wantCode(t *testing.T, err error, code codes.Code) {
	t.Helper()

	if status.Code(err) != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// fakeMachined says which machine it is on.
type fakeMachined struct {
	machine.UnimplementedMachineServiceServer

	name string
}

func (f *fakeMachined) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	return &machine.VersionResponse{Messages: []*machine.Version{{Version: &machine.VersionInfo{Tag: f.name}}}}, nil
}

func (f *fakeMachined) Bootstrap(context.Context, *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}

func (f *fakeMachined) Hostname(context.Context, *emptypb.Empty) (*machine.HostnameResponse, error) {
	if f.name == "b" {
		return nil, status.Error(codes.FailedPrecondition, "b has no name")
	}

	return &machine.HostnameResponse{Messages: []*machine.Hostname{{Hostname: f.name}}}, nil
}

func (f *fakeMachined) Memory(context.Context, *emptypb.Empty) (*machine.MemoryResponse, error) {
	panic("out of it")
}

// Dmesg sends two lines; with follow it goes on until the client leaves.
func (f *fakeMachined) Dmesg(in *machine.DmesgRequest, out machine.MachineService_DmesgServer) error {
	for i := range 2 {
		if err := out.Send(&common.Data{Bytes: []byte(fmt.Sprintf("%s %d", f.name, i))}); err != nil {
			return err
		}
	}

	if in.GetFollow() {
		<-out.Context().Done()
	}

	return nil
}

// lines reads a stream to its end, as "machine: line".
func lines(t *testing.T, stream machine.MachineService_DmesgClient) (said, failed map[string][]string) {
	t.Helper()

	said, failed = map[string][]string{}, map[string][]string{}

	for {
		data, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return said, failed
		}

		check(t, err)

		from := data.GetMetadata().GetHostname()
		if data.GetMetadata().GetError() != "" {
			failed[from] = append(failed[from], data.GetMetadata().GetError())
		} else {
			said[from] = append(said[from], string(data.GetBytes()))
		}
	}
}
