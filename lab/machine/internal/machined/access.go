package machined

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"firstlight.dev/lab/machine/internal/pki"
)

// GenerateClientConfiguration makes a talosconfig for somebody else.
func (s *Server) GenerateClientConfiguration(
	_ context.Context, in *machineapi.GenerateClientConfigurationRequest,
) (*machineapi.GenerateClientConfigurationResponse, error) {
	if err := s.requireControlPlane("generate client configuration"); err != nil {
		return nil, err
	}

	ttl := in.GetCrtTtl().AsDuration()
	if ttl <= 0 {
		return nil, status.Error(codes.InvalidArgument, "crt_ttl should be positive")
	}

	roles, _ := role.Parse(in.GetRoles())

	answer, err := pki.ClientConfiguration(s.m.Config(), roles, ttl)

	return &machineapi.GenerateClientConfigurationResponse{
		Messages: []*machineapi.GenerateClientConfiguration{answer},
	}, err
}

// Kubeconfig is an administrator's, packed as a copied file is.
func (s *Server) Kubeconfig(_ *emptypb.Empty, out machineapi.MachineService_KubeconfigServer) error {
	if err := s.requireControlPlane("kubeconfig"); err != nil {
		return err
	}

	switch cfg := s.m.Config(); {
	case cfg.K8sAPIServerCAConfig() == nil:
		return status.Error(codes.FailedPrecondition, "k8s API server CA config is not set")
	case cfg.K8sClusterConfig() == nil:
		return status.Error(codes.FailedPrecondition, "cluster name and endpoint are not configured "+
			"(.cluster.controlPlane.endpoint or KubeClusterConfig document)")
	}

	text, err := pki.AdminKubeconfig(s.m.Config())
	if err != nil {
		return err
	}

	var packed bytes.Buffer

	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)

	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: "kubeconfig", Size: int64(len(text)), ModTime: time.Now(), Mode: 0o600,
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}

	if _, err := archive.Write(text); err != nil {
		return err
	}

	if err := archive.Close(); err != nil {
		return err
	}

	if err := zip.Close(); err != nil {
		return err
	}

	return out.Send(&common.Data{Bytes: packed.Bytes()})
}
