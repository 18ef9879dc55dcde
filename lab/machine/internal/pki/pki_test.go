package pki_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	stdx509 "crypto/x509"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"firstlight.dev/lab/machine/internal/pki"
	"github.com/siderolabs/crypto/x509"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	gensecrets "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"k8s.io/client-go/tools/clientcmd"
)

func check(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// secrets are made once: the RSA key among them takes a while.
var secrets = sync.OnceValues(func() (*gensecrets.Bundle, error) {
	return gensecrets.NewBundle(gensecrets.NewClock(), config.TalosVersionCurrent)
})

// configs are what talosctl gen config would write.
func configs(t *testing.T) (control, worker config.Provider) {
	t.Helper()

	bundle, err := secrets()
	check(t, err)

	input, err := generate.NewInput("lab", "https://10.5.0.2:6443", "1.36.0",
		generate.WithSecretsBundle(bundle),
		generate.WithAdditionalSubjectAltNames([]string{"api.lab.test", "10.5.0.100"}))
	check(t, err)

	control, err = input.Config(machine.TypeControlPlane)
	check(t, err)

	worker, err = input.Config(machine.TypeWorker)
	check(t, err)

	return control, worker
}

var names = pki.Names{
	Hostname:  "cp-1",
	FQDN:      "cp-1.lab.test",
	Machine:   "m1",
	Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.2"), netip.MustParseAddr("127.71.1.11")},
}

func parse(t *testing.T, pair *x509.PEMEncodedCertificateAndKey) *stdx509.Certificate {
	t.Helper()

	_, err := tls.X509KeyPair(pair.Crt, pair.Key)
	check(t, err)

	certificate, err := pair.GetCert()
	check(t, err)

	return certificate
}

func pool(pem []byte) *stdx509.CertPool {
	pool := stdx509.NewCertPool()
	pool.AppendCertsFromPEM(pem)

	return pool
}

func TestControlPlane(t *testing.T) {
	control, _ := configs(t)

	root, err := pki.OSRoot(control)
	check(t, err)

	issued, err := pki.ControlPlane(root, pki.SANs(root, names))
	check(t, err)

	cas := pool(pki.Bundle(issued.AcceptedCAs))
	server := parse(t, issued.Server)

	for _, name := range []string{"10.5.0.2", "127.71.1.11", "cp-1", "cp-1.lab.test", "m1", "api.lab.test", "10.5.0.100"} {
		if _, err = server.Verify(stdx509.VerifyOptions{DNSName: name, Roots: cas}); err != nil {
			t.Errorf("%s: %s", name, err)
		}
	}

	if server.Subject.CommonName != "cp-1.lab.test" {
		t.Errorf("common name %q", server.Subject.CommonName)
	}

	if _, ok := server.PublicKey.(ed25519.PublicKey); !ok {
		t.Errorf("key of type %T", server.PublicKey)
	}

	client := parse(t, issued.Client)
	if !slices.Equal(client.Subject.Organization, []string{string(role.Impersonator)}) {
		t.Errorf("roles %v", client.Subject.Organization)
	}

	_, err = client.Verify(stdx509.VerifyOptions{Roots: cas, KeyUsages: []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}})
	check(t, err)

	if _, err = server.Verify(stdx509.VerifyOptions{Roots: cas, KeyUsages: []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}}); err == nil {
		t.Error("the server certificate is good for clients")
	}
}

func TestWorkerHasNoKey(t *testing.T) {
	control, worker := configs(t)

	root, err := pki.OSRoot(worker)
	check(t, err)

	if root.IssuingCA != nil || len(root.AcceptedCAs) != 1 {
		t.Errorf("%d CAs, the issuing one is %v", len(root.AcceptedCAs), root.IssuingCA)
	}

	if root.Token == "" || root.Token != control.Machine().Security().Token() {
		t.Error("another token")
	}

	if _, err = pki.ControlPlane(root, pki.SANs(root, names)); err == nil {
		t.Error("signed without a key")
	}

	if _, err = pki.Trustd(root, pki.SANs(root, names)); err == nil {
		t.Error("trustd without a key")
	}

	if _, err = pki.AdminKubeconfig(worker); err == nil {
		t.Error("kubeconfig without a key")
	}

	if _, err = pki.ClientConfiguration(worker, role.MakeSet(role.Admin), time.Hour); err == nil {
		t.Error("talosconfig without a key")
	}
}

func TestConfigIsNotChangedByReadingIt(t *testing.T) {
	control, _ := configs(t)

	for range 3 {
		root, err := pki.OSRoot(control)
		check(t, err)

		if len(root.AcceptedCAs) != 1 {
			t.Fatalf("%d CAs", len(root.AcceptedCAs))
		}
	}
}

func TestMaintenance(t *testing.T) {
	issued, err := pki.Maintenance(pki.MaintenanceSANs(names))
	check(t, err)

	server := parse(t, issued.Server)
	if server.Subject.CommonName != "maintenance-service.talos.dev" {
		t.Errorf("common name %q", server.Subject.CommonName)
	}

	for _, name := range []string{"10.5.0.2", "127.71.1.11", "127.0.0.1", "::1"} {
		check(t, server.VerifyHostname(name))
	}

	if issued.Client != nil || len(issued.AcceptedCAs) > 0 {
		t.Error("a machine without a config trusts somebody")
	}
}

func TestAdminKubeconfig(t *testing.T) {
	control, _ := configs(t)

	written, err := pki.AdminKubeconfig(control)
	check(t, err)

	parsed, err := clientcmd.RESTConfigFromKubeConfig(written)
	check(t, err)

	if parsed.Host != "https://10.5.0.2:6443" {
		t.Errorf("server %s", parsed.Host)
	}

	isAdministrator(t, parsed.CertData, control, "admin")
}

func TestOwnKubeconfig(t *testing.T) {
	control, _ := configs(t)

	written, err := pki.OwnKubeconfig(control, "127.71.0.1:16443")
	check(t, err)

	parsed, err := clientcmd.RESTConfigFromKubeConfig(written)
	check(t, err)

	if parsed.Host != "https://127.71.0.1:16443" || parsed.ServerName != "kubernetes.default.svc" {
		t.Errorf("server %s as %s", parsed.Host, parsed.ServerName)
	}

	isAdministrator(t, parsed.CertData, control, "talos:admin")

	if _, err = pki.OwnKubeconfig(control, "127.71.0.1"); err == nil {
		t.Error("an address without a port")
	}
}

func isAdministrator(t *testing.T, pem []byte, cfg config.Provider, name string) {
	t.Helper()

	certificate, err := (&x509.PEMEncodedCertificate{Crt: pem}).GetCert()
	check(t, err)

	_, err = certificate.Verify(stdx509.VerifyOptions{
		Roots:     pool(cfg.K8sAPIServerCAConfig().IssuingCA().Crt),
		KeyUsages: []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth},
	})
	check(t, err)

	if certificate.Subject.CommonName != name || !slices.Equal(certificate.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("subject %s", certificate.Subject)
	}
}

func TestClientConfiguration(t *testing.T) {
	control, _ := configs(t)

	made, err := pki.ClientConfiguration(control, role.MakeSet(role.Reader), time.Hour)
	check(t, err)

	parsed, err := clientconfig.FromBytes(made.GetTalosconfig())
	check(t, err)

	if parsed.Context != "reader@lab" {
		t.Errorf("context %q", parsed.Context)
	}

	certificate := parse(t, &x509.PEMEncodedCertificateAndKey{Crt: made.GetCrt(), Key: made.GetKey()})
	if !slices.Equal(certificate.Subject.Organization, []string{string(role.Reader)}) {
		t.Errorf("roles %v", certificate.Subject.Organization)
	}

	if left := time.Until(certificate.NotAfter); left > time.Hour || left < 59*time.Minute {
		t.Errorf("valid for %s", left)
	}

	_, err = certificate.Verify(stdx509.VerifyOptions{
		Roots: pool(made.GetCa()), KeyUsages: []stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth},
	})
	check(t, err)
}

func TestKeepTriesAgainSoonAndRenewsAtHalfOfTheValidity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Hour)
		defer cancel()

		var calls []time.Duration

		start, failures := time.Now(), 0

		pki.Keep(ctx, func(context.Context) error {
			calls = append(calls, time.Since(start).Truncate(time.Hour))
			if len(calls) < 3 {
				return errors.New("no control plane yet")
			}

			return nil
		}, func(error) { failures++ })

		if want := []time.Duration{0, 0, 0, 12 * time.Hour, 24 * time.Hour}; !slices.Equal(calls, want) || failures != 2 {
			t.Errorf("called at %v, %d failures", calls, failures)
		}
	})
}
