package proxy

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// identity is the subject of a client certificate that the proxy has verified.
// The API server would read the same: common name is the user, organisations the groups.
type identity struct {
	user    string
	groups  []string
	expires time.Time
}

const remotePrefix = "X-Remote-"

// writeTo replaces whatever identity the client claimed in headers with the verified one.
// A nil identity only removes the claims.
func (i *identity) writeTo(header http.Header) {
	for name := range header {
		// Header names off the wire are already in canonical form.
		if strings.HasPrefix(name, remotePrefix) {
			delete(header, name)
		}
	}
	if i == nil {
		return
	}
	header["X-Remote-User"] = []string{i.user}
	if len(i.groups) > 0 {
		header["X-Remote-Group"] = i.groups
	}
}

// verify answers nil without an error for a certificate without a common name:
// the API server finds no user in it either.
func verify(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) (*identity, error) {
	intermediates := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	verified, err := chain[0].Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, err
	}
	subject := chain[0].Subject
	if subject.CommonName == "" {
		return nil, nil
	}
	expires := chain[0].NotAfter
	for _, certificate := range verified[0] {
		if certificate.NotAfter.Before(expires) {
			expires = certificate.NotAfter
		}
	}
	return &identity{user: subject.CommonName, groups: subject.Organization, expires: expires}, nil
}

// claimedSubject reads the user out of a service account token without verifying it.
// It only serves rules and records; the API server judges the token itself.
func claimedSubject(authorization string) string {
	token, found := strings.CutPrefix(authorization, "Bearer ")
	if !found {
		return ""
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return claims.Subject
}
