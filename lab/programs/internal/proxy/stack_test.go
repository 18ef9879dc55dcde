package proxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// authority issues the certificates of one test.
type authority struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newAuthority(t testing.TB) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, _ := x509.ParseCertificate(der)
	return &authority{t: t, certificate: certificate, key: key, serial: 1}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// issue makes a certificate for both uses; a negative lifetime makes an expired one.
func (a *authority) issue(lifetime time.Duration, user string, groups ...string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: user, Organization: groups},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(lifetime),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// stack is a proxy between a client and an API server played by a handler.
type stack struct {
	t        testing.TB
	ca       *authority
	proxy    *Proxy
	upstream *httptest.Server
	url      string
	client   *http.Client // certificate: user alice, groups dev and ops
}

func newStack(t testing.TB, handler http.HandlerFunc) *stack {
	ca := newAuthority(t)
	upstream := httptest.NewUnstartedServer(handler)
	upstream.TLS = &tls.Config{Certificates: []tls.Certificate{ca.issue(time.Hour, "apiserver")}, ClientAuth: tls.RequestClientCert}
	upstream.StartTLS()
	t.Cleanup(upstream.Close)

	address, _ := url.Parse(upstream.URL)
	transport := newUpstreamTransport(&tls.Config{RootCAs: ca.pool()}, ca.issue(time.Hour, "front-proxy"))
	proxy := newProxy(address, ca.pool(), transport, 1)
	server := proxy.newServer(ca.issue(time.Hour, "proxy"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.ServeTLS(listener, "", "")
	t.Cleanup(func() { proxy.stop(server) })

	s := &stack{t: t, ca: ca, proxy: proxy, upstream: upstream, url: "https://" + listener.Addr().String()}
	s.client = s.newClient(ca.issue(time.Hour, "alice", "dev", "ops"))
	return s
}

func (s *stack) newClient(certificates ...tls.Certificate) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.pool(), Certificates: certificates}, MaxIdleConnsPerHost: 64}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// fault adds a rule over the control API and returns its id.
func (s *stack) fault(rule string) string {
	s.t.Helper()
	var added struct{ ID string }
	if code := s.control("POST", "/faults", rule, &added); code != http.StatusCreated {
		s.t.Fatalf("rule %s was refused with %d", rule, code)
	}
	return added.ID
}

func (s *stack) control(method, path, body string, into any) int {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.proxy.Control().ServeHTTP(w, httptest.NewRequest(method, path, bytes.NewBufferString(body)))
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			s.t.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
		}
	}
	return w.Code
}

// get reads a whole answer.
func (s *stack) get(path string) (*http.Response, string, error) {
	s.t.Helper()
	answer, err := s.client.Get(s.url + path)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, string(body), err
}

// await asks again and again until the condition holds; it is for states that another
// goroutine reaches in its own time.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

type (
	tlsRequest     = tls.CertificateRequestInfo
	tlsCertificate = tls.Certificate
)

// stateOf is what a handshake with this client certificate leaves.
func stateOf(t testing.TB, certificate tls.Certificate) *tls.ConnectionState {
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
}

// records waits for so many: a client has its answer a moment before the record is written.
func (s *stack) records(n int) []Record {
	s.t.Helper()
	var kept []Record
	await(s.t, "records", func() bool {
		kept, _, _ = s.proxy.recorder.since(0)
		return len(kept) >= n
	})
	return kept
}
