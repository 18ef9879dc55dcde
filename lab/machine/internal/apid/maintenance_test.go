package apid_test

import (
	"crypto/tls"
	"testing"
	"time"

	"firstlight.dev/lab/machine/internal/apid"
	"firstlight.dev/lab/machine/internal/pki"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"
)

func (l *lab) maintenance(name string) func(*apid.Options) {
	certificates, err := pki.Maintenance(pki.MaintenanceSANs(l.names(name)))
	check(l.t, err)

	return func(o *apid.Options) {
		o.Maintenance = true
		o.Certificates = func() *secrets.APICertsSpec { return certificates }
	}
}

func TestMaintenanceAnswersReadersOnly(t *testing.T) {
	l := newLab(t)
	l.start("a", l.maintenance("a"))

	for name, config := range map[string]*tls.Config{
		"without a certificate":        {InsecureSkipVerify: true},
		"with one of an administrator": {InsecureSkipVerify: true, Certificates: []tls.Certificate{l.user(role.Admin)}},
	} {
		t.Run(name, func(t *testing.T) {
			anybody := l.dial("a", config)

			_, err := anybody.Version(t.Context(), &emptypb.Empty{})
			check(t, err)

			_, err = anybody.Bootstrap(t.Context(), &machine.BootstrapRequest{})
			wantCode(t, err, codes.PermissionDenied)
		})
	}
}

func TestMaintenanceDoesNotRoute(t *testing.T) {
	l := newLab(t)
	l.start("a", l.maintenance("a"))
	l.start("b")

	anybody := l.dial("a", &tls.Config{InsecureSkipVerify: true})

	reply, err := anybody.Version(client.WithNodes(t.Context(), "10.5.0.2"), &emptypb.Empty{})
	check(t, err)

	if tag := reply.GetMessages()[0].GetVersion().GetTag(); tag != "a" {
		t.Errorf("answered by %s", tag)
	}
}

func TestConfiguredWhileACallGoesOn(t *testing.T) {
	l := newLab(t)
	server, stop := l.start("a", l.maintenance("a"), func(o *apid.Options) { o.Grace = 3 * time.Second })

	stream, err := l.dial("a", &tls.Config{InsecureSkipVerify: true}).Dmesg(t.Context(), &machine.DmesgRequest{Follow: true})
	check(t, err)

	_, err = stream.Recv()
	check(t, err)

	stop()
	l.start("a") // fails if the port is not free

	_, err = l.client("a", l.user(role.Admin)).Bootstrap(t.Context(), &machine.BootstrapRequest{})
	check(t, err)

	_, err = l.dial("a", &tls.Config{InsecureSkipVerify: true}).Version(t.Context(), &emptypb.Empty{})
	wantCode(t, err, codes.Unavailable)

	// What was going on goes on for a while, and then it is over.
	_, err = stream.Recv()
	check(t, err)

	select {
	case <-server.Drained():
		t.Error("cut off at once")
	default:
	}

	_, err = stream.Recv()
	wantCode(t, err, codes.Unavailable)

	<-server.Drained()
}
