package apid_test

import (
	"sync/atomic"
	"testing"
	"time"

	"firstlight.dev/lab/machine/internal/apid"
	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Configs can get another CA while the machines serve: whom they let in, and how they call each other, follows at once.
func TestCAIsChangedWhileServing(t *testing.T) {
	l := newLab(t)

	var a, b atomic.Pointer[secrets.APICertsSpec]

	renew := func() {
		a.Store(l.certificates("a"))
		b.Store(l.certificates("b"))
	}
	renew()

	l.start("a", func(o *apid.Options) { o.Certificates = a.Load })
	_, stop := l.start("b", func(o *apid.Options) { o.Certificates = b.Load })

	before := l.user(role.Reader)
	if got := answers(t, l.client("a", before), "10.5.0.2"); got["10.5.0.2"] != "b" {
		t.Fatal(got)
	}

	l.root.IssuingCA = newCA(t)
	l.root.AcceptedCAs = []*x509.PEMEncodedCertificate{{Crt: l.root.IssuingCA.Crt}}
	renew()

	_, err := l.client("a", before).Version(t.Context(), &emptypb.Empty{})
	wantCode(t, err, codes.Unavailable)

	// Opened again, the connection between the machines has the new certificates on both sides.
	stop()
	l.start("b", func(o *apid.Options) { o.Certificates = b.Load })

	reader := l.client("a", l.user(role.Reader))

	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if got := answers(t, reader, "10.5.0.2"); got["10.5.0.2"] == "b" {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("not routed any more: %v", got)
		}
	}
}
