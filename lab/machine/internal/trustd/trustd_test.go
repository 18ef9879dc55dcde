package trustd_test

import (
	"context"
	"crypto/tls"
	stdx509 "crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"firstlight.dev/lab/machine/internal/pki"
	"firstlight.dev/lab/machine/internal/trustd"
	"github.com/siderolabs/crypto/x509"
	gensecrets "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
)

const controlPlane = "127.84.0.1"

func check(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// roots are what the configs of a control plane and of a worker say: the worker has no key.
func roots(t *testing.T) (control, worker *secrets.OSRootSpec) {
	t.Helper()

	ca, err := gensecrets.NewTalosCA(time.Now())
	check(t, err)

	accepted := []*x509.PEMEncodedCertificate{{Crt: ca.CrtPEM}}

	return &secrets.OSRootSpec{
		IssuingCA:   x509.NewCertificateAndKeyFromCertificateAuthority(ca),
		AcceptedCAs: accepted,
		Token:       "right",
	}, &secrets.OSRootSpec{AcceptedCAs: accepted, Token: "right"}
}

// serve runs trustd of a control plane, and is where it listens.
func serve(t *testing.T, root *secrets.OSRootSpec) string {
	t.Helper()

	sans := pki.SANs(root, pki.Names{Hostname: "cp-1", Addresses: []netip.Addr{netip.MustParseAddr(controlPlane)}})

	certificates, err := pki.Trustd(root, sans)
	check(t, err)

	server, err := trustd.Listen(t.Context(), trustd.Options{
		Address:      controlPlane + ":0",
		Root:         func() *secrets.OSRootSpec { return root },
		Certificates: func() *secrets.TrustdCertsSpec { return certificates },
		Grace:        time.Second,
	})
	check(t, err)

	ctx, cancel := context.WithCancel(context.Background())

	go server.Serve(ctx)

	t.Cleanup(func() {
		cancel()
		<-server.Drained()
	})

	return server.Address().String()
}

var names = pki.Names{Hostname: "worker-1", Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.9"), netip.MustParseAddr("127.84.0.9")}}

func TestWorkerGetsACertificateToServeWith(t *testing.T) {
	control, worker := roots(t)

	issued, err := trustd.Worker(t.Context(), worker, pki.SANs(worker, names), []string{serve(t, control)})
	check(t, err)

	if issued.Client != nil || issued.SkipVerifyingClientCert {
		t.Error("more than a server certificate")
	}

	if _, err = tls.X509KeyPair(issued.Server.Crt, issued.Server.Key); err != nil {
		t.Fatal(err)
	}

	certificate, err := issued.Server.GetCert()
	check(t, err)

	pool := stdx509.NewCertPool()
	pool.AppendCertsFromPEM(pki.Bundle(issued.AcceptedCAs))

	for _, name := range []string{"worker-1", "10.5.0.9", "127.84.0.9"} {
		if _, err = certificate.Verify(stdx509.VerifyOptions{DNSName: name, Roots: pool}); err != nil {
			t.Errorf("%s: %s", name, err)
		}
	}

	if !slices.Equal(certificate.ExtKeyUsage, []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}) {
		t.Errorf("good for %v", certificate.ExtKeyUsage)
	}
}

func TestWrongTokenGetsNothing(t *testing.T) {
	control, worker := roots(t)
	worker.Token = "wrong"

	_, err := trustd.Worker(t.Context(), worker, pki.SANs(worker, names), []string{serve(t, control)})
	if err == nil || !strings.Contains(err.Error(), "code = Unauthenticated desc = invalid token") {
		t.Fatalf("got %v", err)
	}
}

func TestTokenIsNotSentToAStranger(t *testing.T) {
	stranger, _ := roots(t)
	_, worker := roots(t)

	_, err := trustd.Worker(t.Context(), worker, pki.SANs(worker, names), []string{serve(t, stranger)})
	if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Fatalf("got %v", err)
	}
}

func TestEndpointsThatAreDownAreSkipped(t *testing.T) {
	control, worker := roots(t)
	up := serve(t, control)

	_, port, err := net.SplitHostPort(up)
	check(t, err)

	down := []string{net.JoinHostPort("127.84.0.2", port), net.JoinHostPort("127.84.0.3", port)}

	_, err = trustd.Worker(t.Context(), worker, pki.SANs(worker, names), append(down, up))
	check(t, err)

	_, err = trustd.Worker(t.Context(), worker, pki.SANs(worker, names), down)
	if err == nil || !strings.Contains(err.Error(), down[0]) || !strings.Contains(err.Error(), down[1]) {
		t.Fatalf("does not say what all of them said: %v", err)
	}
}

func TestRolesAreNotSigned(t *testing.T) {
	control, worker := roots(t)

	request, _, err := x509.NewEd25519CSRAndIdentity(x509.CommonName("worker-1"), x509.Organization(string(role.Admin)))
	check(t, err)

	ca, crt, err := trustd.Request(t.Context(), []string{serve(t, control)}, worker.Token, worker.AcceptedCAs, request.X509CertificateRequestPEM)
	check(t, err)

	if string(ca) != string(pki.Bundle(worker.AcceptedCAs)) {
		t.Error("another CA came back")
	}

	certificate, err := (&x509.PEMEncodedCertificate{Crt: crt}).GetCert()
	check(t, err)

	if len(certificate.Subject.Organization) > 0 || slices.Contains(certificate.ExtKeyUsage, stdx509.ExtKeyUsageClientAuth) {
		t.Errorf("a client certificate for %v", certificate.Subject.Organization)
	}
}

func TestNotARequest(t *testing.T) {
	control, worker := roots(t)

	_, _, err := trustd.Request(t.Context(), []string{serve(t, control)}, worker.Token, worker.AcceptedCAs, []byte("hello"))
	if err == nil || !strings.Contains(err.Error(), "failed to decode CSR") {
		t.Fatalf("got %v", err)
	}
}

func TestListenNeedsTheKey(t *testing.T) {
	_, worker := roots(t)

	if _, err := trustd.Listen(t.Context(), trustd.Options{Root: func() *secrets.OSRootSpec { return worker }}); err == nil {
		t.Error("a worker serves trustd")
	}
}
