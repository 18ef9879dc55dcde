package trustd

import (
	"context"
	"crypto/tls"
	stdx509 "crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"firstlight.dev/lab/machine/internal/pki"
	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/grpc/middleware/auth/basic"
	"github.com/siderolabs/talos/pkg/machinery/api/security"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// attempt is how long one endpoint may take to answer.
const attempt = 10 * time.Second

// Worker makes a key for apid of a worker and has its certificate signed. Endpoints are host:port of the trustd of
// control planes, where they really listen. There is no client certificate: workers route nothing.
func Worker(ctx context.Context, root *secrets.OSRootSpec, sans *secrets.CertSANSpec, endpoints []string) (*secrets.APICertsSpec, error) {
	if len(root.AcceptedCAs) == 0 {
		return nil, errors.New("no accepted CAs")
	}

	// The last one is machine.ca; the key is to be of the same kind.
	ca, err := root.AcceptedCAs[len(root.AcceptedCAs)-1].GetCert()
	if err != nil {
		return nil, fmt.Errorf("parsing the CA: %w", err)
	}

	request, server, err := x509.NewCSRAndIdentityFromCA(ca,
		x509.IPAddresses(sans.StdIPs()),
		x509.DNSNames(sans.DNSNames),
		x509.CommonName(sans.FQDN),
	)
	if err != nil {
		return nil, fmt.Errorf("making a request for a certificate: %w", err)
	}

	accepted, signed, err := Request(ctx, endpoints, root.Token, root.AcceptedCAs, request.X509CertificateRequestPEM)
	if err != nil {
		return nil, fmt.Errorf("failed to sign API server CSR: %w", err)
	}

	server.Crt = signed

	return &secrets.APICertsSpec{AcceptedCAs: []*x509.PEMEncodedCertificate{{Crt: accepted}}, Server: server}, nil
}

// Request asks one endpoint after the other, in any order, until one has signed. Everything is PEM; ca is what the
// cluster accepts now. The error has what every endpoint said.
func Request(
	ctx context.Context, endpoints []string, token string, accepted []*x509.PEMEncodedCertificate, csr []byte,
) (ca, crt []byte, err error) {
	if len(endpoints) == 0 {
		return nil, nil, errors.New("at least one root of trust endpoint is required")
	}

	// Workers that start together should not all ask the first one.
	endpoints = slices.Clone(endpoints)
	rand.Shuffle(len(endpoints), func(i, j int) { endpoints[i], endpoints[j] = endpoints[j], endpoints[i] })

	var failures []error

	for _, endpoint := range endpoints {
		answer, err := ask(ctx, endpoint, token, accepted, csr)
		if err == nil {
			return answer.GetCa(), answer.GetCrt(), nil
		}

		failures = append(failures, fmt.Errorf("%s: %w", endpoint, err))

		if ctx.Err() != nil {
			break
		}
	}

	return nil, nil, errors.Join(failures...)
}

func ask(
	ctx context.Context, endpoint, token string, accepted []*x509.PEMEncodedCertificate, csr []byte,
) (*security.CertificateResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()

	roots := stdx509.NewCertPool()
	if !roots.AppendCertsFromPEM(pki.Bundle(accepted)) {
		return nil, errors.New("no certificate in the accepted CAs")
	}

	conn, err := grpc.NewClient("passthrough:///"+endpoint,
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots})),
		grpc.WithPerRPCCredentials(basic.NewTokenCredentials(token)),
		grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	return security.NewSecurityServiceClient(conn).Certificate(ctx, &security.CertificateRequest{Csr: csr})
}
