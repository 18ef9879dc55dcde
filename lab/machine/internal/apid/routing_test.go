package apid_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"firstlight.dev/lab/machine/internal/apid"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
)

// answers is who answered for which target.
func answers(t *testing.T, c machine.MachineServiceClient, targets ...string) map[string]string {
	t.Helper()

	reply, err := c.Version(client.WithNodes(t.Context(), targets...), &emptypb.Empty{})
	check(t, err)

	answered := map[string]string{}

	for _, message := range reply.GetMessages() {
		if message.GetMetadata().GetError() == "" {
			answered[message.GetMetadata().GetHostname()] = message.GetVersion().GetTag()
		}
	}

	return answered
}

func TestWithoutTargetThisMachineAnswers(t *testing.T) {
	l := newLab(t)
	l.start("a")

	reply, err := l.client("a", l.user(role.Reader)).Version(t.Context(), &emptypb.Empty{})
	check(t, err)

	if tag, host := reply.GetMessages()[0].GetVersion().GetTag(), reply.GetMessages()[0].GetMetadata().GetHostname(); tag != "a" || host != "" {
		t.Errorf("got %q from %q", tag, host)
	}
}

func TestRoutedByWhateverWasTyped(t *testing.T) {
	l := newLab(t)
	l.start("a", func(o *apid.Options) {
		o.Resolve = func(name string) (string, bool) { return "127.83.0.2", name == "host-b" }
	})
	l.start("b")

	reader := l.client("a", l.user(role.Reader))

	for _, typed := range []string{"10.5.0.2", "127.83.0.2", "b", "host-b"} {
		if got := answers(t, reader, typed); len(got) != 1 || got[typed] != "b" {
			t.Errorf("%s: %v", typed, got)
		}

		reply, err := reader.Version(client.WithNode(t.Context(), typed), &emptypb.Empty{})
		check(t, err)

		if tag := reply.GetMessages()[0].GetVersion().GetTag(); tag != "b" {
			t.Errorf("%s as one node: answered by %s", typed, tag)
		}
	}
}

func TestManyNodesIncludingOwn(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{"a", "b", "c"} {
		l.start(name)
	}

	got := answers(t, l.client("a", l.user(role.Reader)), "10.5.0.1", "10.5.0.2", "10.5.0.3")
	for typed, name := range map[string]string{"10.5.0.1": "a", "10.5.0.2": "b", "10.5.0.3": "c"} {
		if got[typed] != name {
			t.Errorf("%s: %v", typed, got)
		}
	}
}

func TestRolesAreKeptOnTheWay(t *testing.T) {
	l := newLab(t)
	l.start("a")
	l.start("b")

	_, err := l.client("a", l.user(role.Reader)).Bootstrap(client.WithNode(t.Context(), "10.5.0.2"), &machine.BootstrapRequest{})
	wantCode(t, err, codes.PermissionDenied)

	_, err = l.client("a", l.user(role.Admin)).Bootstrap(client.WithNode(t.Context(), "10.5.0.2"), &machine.BootstrapRequest{})
	check(t, err)
}

func TestErrorOfOneMachineLeavesTheOthersReplies(t *testing.T) {
	l := newLab(t)
	l.start("a")
	l.start("b")

	// b refuses, c is down, 10.5.9.9 and nobody are not there at all.
	targets := []string{"10.5.0.1", "10.5.0.2", "10.5.0.3", "10.5.9.9", "nobody"}

	reply, err := l.client("a", l.user(role.Reader)).Hostname(client.WithNodes(t.Context(), targets...), &emptypb.Empty{})
	check(t, err)

	if len(reply.GetMessages()) != len(targets) {
		t.Fatalf("%d replies", len(reply.GetMessages()))
	}

	for _, message := range reply.GetMessages() {
		info := message.GetMetadata()
		code, says := codes.Unavailable, ""

		switch info.GetHostname() {
		case "10.5.0.1":
			code = codes.OK
		case "10.5.0.2":
			code, says = codes.FailedPrecondition, "b has no name"
		case "10.5.0.3":
			says = "connection refused"
		case "10.5.9.9":
			says = "no route to host"
		case "nobody":
			says = "no such host"
		}

		if codes.Code(info.GetStatus().GetCode()) != code || !strings.Contains(info.GetError(), says) {
			t.Errorf("%s: %s %q", info.GetHostname(), codes.Code(info.GetStatus().GetCode()), info.GetError())
		}

		if strings.Contains(info.GetError(), "127.83") {
			t.Errorf("an address that nobody typed: %s", info.GetError())
		}
	}
}

func TestOneNodeThatIsDownOrUnknown(t *testing.T) {
	l := newLab(t)
	l.start("a")

	reader := l.client("a", l.user(role.Reader))

	for _, typed := range []string{"10.5.0.2", "10.5.9.9", "nobody"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()

		_, err := reader.Version(client.WithNode(ctx, typed), &emptypb.Empty{})
		wantCode(t, err, codes.Unavailable)
	}
}

func TestMachineComesBack(t *testing.T) {
	l := newLab(t)
	l.start("a")
	server, stop := l.start("b")

	reader := l.client("a", l.user(role.Reader))
	if got := answers(t, reader, "10.5.0.2"); got["10.5.0.2"] != "b" {
		t.Fatal(got)
	}

	stop()
	<-server.Drained()

	if got := answers(t, reader, "10.5.0.2"); len(got) != 0 {
		t.Fatalf("answers though it is down: %v", got)
	}

	l.start("b")

	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if got := answers(t, reader, "10.5.0.2"); got["10.5.0.2"] == "b" {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("not found again: %v", got)
		}
	}
}

func TestStreamsAreRouted(t *testing.T) {
	l := newLab(t)
	l.start("a")
	l.start("b")

	reader := l.client("a", l.user(role.Reader))

	one, err := reader.Dmesg(client.WithNode(t.Context(), "10.5.0.2"), &machine.DmesgRequest{})
	check(t, err)

	if said, _ := lines(t, one); !slices.Equal(said[""], []string{"b 0", "b 1"}) {
		t.Errorf("one node: %v", said)
	}

	many, err := reader.Dmesg(client.WithNodes(t.Context(), "10.5.0.1", "b", "10.5.0.3"), &machine.DmesgRequest{})
	check(t, err)

	said, failed := lines(t, many)
	if !slices.Equal(said["10.5.0.1"], []string{"a 0", "a 1"}) || !slices.Equal(said["b"], []string{"b 0", "b 1"}) {
		t.Errorf("many nodes: %v", said)
	}

	if len(failed["10.5.0.3"]) != 1 || !strings.Contains(failed["10.5.0.3"][0], "connection refused") {
		t.Errorf("the one that is down: %v", failed)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	l := newLab(t)
	l.start("a")

	reader := l.client("a", l.user(role.Reader))

	_, err := reader.Version(metadata.AppendToOutgoingContext(t.Context(), "node", "a", "node", "b"), &emptypb.Empty{})
	wantCode(t, err, codes.InvalidArgument)

	_, err = reader.Version(client.WithNode(t.Context(), "10.5.0.2:50000"), &emptypb.Empty{})
	wantCode(t, err, codes.Internal)

	if !strings.Contains(err.Error(), `invalid target "10.5.0.2:50000"`) {
		t.Error(err)
	}
}

func TestWorkerRoutesOnlyToItself(t *testing.T) {
	l := newLab(t)
	l.start("b")

	certificates := l.certificates("a")
	certificates.Client = nil

	l.start("a", func(o *apid.Options) {
		o.Certificates = func() *secrets.APICertsSpec { return certificates }
	})

	reader := l.client("a", l.user(role.Reader))

	for _, ctx := range []context.Context{client.WithNode(t.Context(), "10.5.0.1"), client.WithNodes(t.Context(), "10.5.0.1")} {
		reply, err := reader.Version(ctx, &emptypb.Empty{})
		check(t, err)

		if tag := reply.GetMessages()[0].GetVersion().GetTag(); tag != "a" {
			t.Errorf("answered by %s", tag)
		}
	}

	for _, ctx := range []context.Context{client.WithNode(t.Context(), "10.5.0.2"), client.WithNodes(t.Context(), "10.5.0.1", "10.5.0.2")} {
		_, err := reader.Version(ctx, &emptypb.Empty{})
		wantCode(t, err, codes.PermissionDenied)

		if !strings.Contains(err.Error(), "no request forwarding") {
			t.Errorf("not Talos's words: %s", err)
		}
	}
}
