// Package trustd signs the certificates of workers, which do not have the key of the CA. Control planes serve it;
// workers prove by the token of their config that they belong to the cluster.
package trustd

import (
	"context"
	"crypto/tls"
	stdx509 "crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"firstlight.dev/lab/machine/internal/apid/serving"
	"firstlight.dev/lab/machine/internal/pki"
	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/grpc/middleware/auth/basic"
	"github.com/siderolabs/talos/pkg/machinery/api/security"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Options is what trustd needs to know. Both functions are asked at every call, so configs and certificates can change.
type Options struct {
	// Address is the loopback one with the port of trustd.
	Address string
	// Root has the token and the CA that signs.
	Root func() *secrets.OSRootSpec
	// Certificates has the one that trustd serves with.
	Certificates func() *secrets.TrustdCertsSpec
	// Log may be nil.
	Log *log.Logger
	// Grace is how long calls in flight may go on after Serve; 0 is as long as Talos allows.
	Grace time.Duration
}

// Server is a trustd. Its Serve and Drained are those of serving.Server.
type Server = serving.Server

// Listen opens the port. Clients can connect from then on, and are answered once Serve runs.
func Listen(ctx context.Context, o Options) (*Server, error) {
	if root := o.Root(); root == nil || root.IssuingCA == nil || root.Token == "" {
		return nil, errors.New("trustd needs the key of the OS CA and a token")
	}

	if _, err := certificate(o.Certificates()); err != nil {
		return nil, err
	}

	token := basic.NewTokenCredentialsDynamic(func(context.Context) (string, error) { return o.Root().Token, nil })

	server := grpc.NewServer(append(serving.Options(o.Log, token), grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return certificate(o.Certificates())
		},
	})))...)
	security.RegisterSecurityServiceServer(server, &signer{root: o.Root, log: o.Log})

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("trustd: %w", err)
	}

	grace := o.Grace
	if grace == 0 {
		grace = serving.Grace
	}

	return serving.New(listener, server, grace, nil), nil
}

func certificate(certificates *secrets.TrustdCertsSpec) (*tls.Certificate, error) {
	if certificates == nil || certificates.Server == nil {
		return nil, errors.New("trustd has no certificate")
	}

	pair, err := tls.X509KeyPair(certificates.Server.Crt, certificates.Server.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate of trustd: %w", err)
	}

	return &pair, nil
}

type signer struct {
	security.UnimplementedSecurityServiceServer

	root func() *secrets.OSRootSpec
	log  *log.Logger
}

// Certificate signs a certificate to serve with, and no other: an organisation in a client certificate is a role, so
// it is dropped from the request. The names in the request are believed, as Talos believes them.
func (s *signer) Certificate(ctx context.Context, in *security.CertificateRequest) (*security.CertificateResponse, error) {
	caller, ok := peer.FromContext(ctx)
	if !ok {
		return nil, status.Error(codes.PermissionDenied, "peer not found")
	}

	block, _ := pem.Decode(in.GetCsr())
	if block == nil {
		return nil, status.Error(codes.InvalidArgument, "failed to decode CSR")
	}

	request, err := stdx509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "failed to parse CSR: %s", err)
	}

	s.logf("received CSR signing request from %s: subject %s dns names %s addresses %s",
		caller.Addr, request.Subject, request.DNSNames, request.IPAddresses)

	options := []x509.Option{
		x509.KeyUsage(stdx509.KeyUsageDigitalSignature),
		x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}),
	}

	if len(request.Subject.Organization) > 0 {
		s.logf("removing client auth organization from CSR: %s", request.Subject.Organization)

		options = append(options, x509.OverrideSubject(func(subject *pkix.Name) { subject.Organization = nil }))
	}

	root := s.root()

	signed, err := x509.NewCertificateFromCSRBytes(root.IssuingCA.Crt, root.IssuingCA.Key, in.GetCsr(), options...)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "failed to sign CSR: %s", err)
	}

	return &security.CertificateResponse{Ca: pki.Bundle(root.AcceptedCAs), Crt: signed.X509CertificatePEM}, nil
}

func (s *signer) logf(format string, args ...any) {
	if s.log != nil {
		s.log.Printf(format, args...)
	}
}
