package proxy

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"
)

// seen is what the API server learns of the client.
type seen struct {
	Front  bool // the connection presents the front-proxy certificate
	Remote http.Header
	Bearer string
}

func showIdentity(w http.ResponseWriter, r *http.Request) {
	s := seen{Remote: http.Header{}, Bearer: r.Header.Get("Authorization")}
	s.Front = len(r.TLS.PeerCertificates) == 1 && r.TLS.PeerCertificates[0].Subject.CommonName == "front-proxy"
	for name, values := range r.Header {
		if len(name) > 8 && name[:8] == "X-Remote" {
			s.Remote[name] = values
		}
	}
	json.NewEncoder(w).Encode(s)
}

func ask(t *testing.T, client *http.Client, url string, header http.Header) (seen, int) {
	t.Helper()
	request, _ := http.NewRequest("GET", url+"/api/v1/pods", nil)
	request.Header = header
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var s seen
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s, answer.StatusCode
}

var smuggled = http.Header{
	"X-Remote-User":         {"system:admin"},
	"X-Remote-Group":        {"system:masters"},
	"X-Remote-Uid":          {"0"},
	"X-Remote-Extra-Scopes": {"all"},
	"x-remote-user":         {"system:admin"},
	"Connection":            {"X-Remote-User, X-Remote-Group"},
}

func TestCertificateIsTheIdentity(t *testing.T) {
	s := newStack(t, showIdentity)
	want := http.Header{"X-Remote-User": {"alice"}, "X-Remote-Group": {"dev", "ops"}}

	for name, header := range map[string]http.Header{"plain": {}, "smuggling": smuggled} {
		if got, _ := ask(t, s.client, s.url, header.Clone()); !got.Front || !reflect.DeepEqual(got.Remote, want) {
			t.Errorf("%s: the API server sees %+v", name, got)
		}
	}
}

func TestNoCertificateIsNoIdentity(t *testing.T) {
	s := newStack(t, showIdentity)
	header := smuggled.Clone()
	header.Set("Authorization", "Bearer a.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YTpiIn0.c")

	got, _ := ask(t, s.newClient(), s.url, header)

	if got.Front || len(got.Remote) > 0 || got.Bearer != header.Get("Authorization") {
		t.Errorf("the API server sees %+v", got)
	}
	if records := s.records(1); records[0].User != "system:serviceaccount:a:b" {
		t.Errorf("recorded as %q", records[0].User)
	}
}

func TestBadCertificateIsUnauthorized(t *testing.T) {
	s := newStack(t, showIdentity)
	stranger := newAuthority(t)

	for name, client := range map[string]*http.Client{
		"expired": s.newClient(s.ca.issue(-time.Minute, "alice")),
		"strange": s.newClient(stranger.issue(time.Hour, "alice")),
	} {
		// Clients leave out a certificate that no named CA has issued, unless told otherwise.
		config := client.Transport.(*http.Transport).TLSClientConfig
		certificate := config.Certificates[0]
		config.GetClientCertificate = func(*tlsRequest) (*tlsCertificate, error) { return &certificate, nil }

		if _, code := ask(t, client, s.url, http.Header{}); code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, code)
		}
		if got, code := ask(t, client, s.url, http.Header{"Authorization": {"Bearer t"}}); code != 200 || got.Front || len(got.Remote) > 0 {
			t.Errorf("%s with a token: %d, the API server sees %+v", name, code, got)
		}
	}
}

func TestCertificateExpiresDuringConnection(t *testing.T) {
	s := newStack(t, showIdentity)
	request, _ := http.NewRequest("GET", s.url, nil)
	leaf := s.ca.issue(time.Minute, "alice")
	request.TLS = stateOf(t, leaf)
	c, now := &connection{}, time.Now()

	if found, err := c.identify(request, s.ca.pool(), now); err != nil || found.user != "alice" {
		t.Fatalf("%+v, %v", found, err)
	}
	if found, err := c.identify(request, s.ca.pool(), now.Add(2*time.Minute)); err == nil || found != nil {
		t.Fatalf("expired, but %+v", found)
	}
}
