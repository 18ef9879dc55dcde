package apid_test

import (
	"context"
	"crypto/tls"
	stdx509 "crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"firstlight.dev/lab/machine/internal/apid"
	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestReaderReadsAndDoesNotBootstrap(t *testing.T) {
	l := newLab(t)
	l.start("a")

	reader := l.client("a", l.user(role.Reader))

	_, err := reader.Version(t.Context(), &emptypb.Empty{})
	check(t, err)

	_, err = reader.Bootstrap(t.Context(), &machine.BootstrapRequest{})
	wantCode(t, err, codes.PermissionDenied)

	if !strings.Contains(err.Error(), "not authorized") {
		t.Errorf("not Talos's words: %s", err)
	}
}

func TestAdminMayBootstrap(t *testing.T) {
	l := newLab(t)
	l.start("a")

	_, err := l.client("a", l.user(role.Admin)).Bootstrap(t.Context(), &machine.BootstrapRequest{})
	check(t, err)
}

func TestCertificateWithAnUnknownRoleMayDoNothing(t *testing.T) {
	l := newLab(t)
	l.start("a")

	_, err := l.client("a", l.user("os:gardener")).Version(t.Context(), &emptypb.Empty{})
	wantCode(t, err, codes.PermissionDenied)
}

func TestRolesOfTheMetadataAreNotBelieved(t *testing.T) {
	l := newLab(t)
	l.start("a")
	l.start("b")

	reader := l.client("a", l.user(role.Reader))
	ctx := metadata.AppendToOutgoingContext(t.Context(), constants.APIAuthzRoleMetadataKey, string(role.Admin))

	_, err := reader.Bootstrap(ctx, &machine.BootstrapRequest{})
	wantCode(t, err, codes.PermissionDenied)

	_, err = reader.Bootstrap(client.WithNode(ctx, "10.5.0.2"), &machine.BootstrapRequest{})
	wantCode(t, err, codes.PermissionDenied)
}

func TestImpersonatorHasTheRolesThatItSays(t *testing.T) {
	l := newLab(t)
	l.start("a")

	impersonator := l.client("a", l.user(role.Impersonator))

	_, err := impersonator.Version(t.Context(), &emptypb.Empty{})
	wantCode(t, err, codes.PermissionDenied)

	ctx := metadata.AppendToOutgoingContext(t.Context(), constants.APIAuthzRoleMetadataKey, string(role.Reader))

	_, err = impersonator.Version(ctx, &emptypb.Empty{})
	check(t, err)
}

func TestRefusedByTLS(t *testing.T) {
	l := newLab(t)
	l.start("a")

	server := l.certificates("a").Server

	serving, err := tls.X509KeyPair(server.Crt, server.Key)
	check(t, err)

	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(l.root.IssuingCA)
	check(t, err)

	both, err := x509.NewKeyPair(ca, x509.Organization(string(role.Admin)), x509.ExtKeyUsage([]stdx509.ExtKeyUsage{
		stdx509.ExtKeyUsageClientAuth, stdx509.ExtKeyUsageServerAuth,
	}))
	check(t, err)

	for name, test := range map[string]struct {
		certificates []tls.Certificate
		says         string
	}{
		"no certificate":            {nil, "certificate required"},
		"another CA":                {[]tls.Certificate{l.userUntil(newCA(t), time.Now(), time.Hour, role.Admin)}, "unknown certificate authority"},
		"expired":                   {[]tls.Certificate{l.userUntil(l.root.IssuingCA, time.Now().Add(-2*time.Hour), time.Hour, role.Admin)}, "expired certificate"},
		"a server certificate":      {[]tls.Certificate{serving}, "bad certificate"},
		"good for more than client": {[]tls.Certificate{*both.Certificate}, "bad certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.client("a", test.certificates...).Version(t.Context(), &emptypb.Empty{})
			wantCode(t, err, codes.Unavailable)

			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("%q does not say %q", err, test.says)
			}
		})
	}
}

func TestPanicIsAnErrorOfOneCall(t *testing.T) {
	l := newLab(t)
	l.start("a")

	admin := l.client("a", l.user(role.Admin))

	_, err := admin.Memory(t.Context(), &emptypb.Empty{})
	wantCode(t, err, codes.Internal)

	_, err = admin.Version(t.Context(), &emptypb.Empty{})
	check(t, err)
}

func TestListenNeedsACertificate(t *testing.T) {
	l := newLab(t)

	_, err := apid.Listen(t.Context(), apid.Options{
		Loopback:     "127.83.0.1",
		Book:         l.book,
		Local:        func(context.Context) (net.Conn, error) { return nil, net.ErrClosed },
		Certificates: func() *secrets.APICertsSpec { return nil },
	})
	if err == nil {
		t.Error("listens without a certificate")
	}
}
