package apid

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"

	"firstlight.dev/lab/machine/internal/book"
)

// addresses is the network and the DNS of the lab: it knows where a machine really listens.
type addresses struct {
	book    *book.Book
	resolve func(name string) (string, bool)
	own     string
}

// find is the loopback address of a target that somebody typed.
func (a *addresses) find(target string) (string, bool) {
	if entry, ok := a.book.Find(target); ok {
		return entry.Loopback, true
	}

	if a.resolve == nil {
		return "", false
	}

	return a.resolve(target)
}

// isOwn is whether a target is this machine.
func (a *addresses) isOwn(target string) bool {
	loopback, ok := a.find(target)

	return ok && loopback == a.own
}

// dial connects to host:port as typed. Errors have the typed address and not the one behind it: that is what clients
// of a real machine read.
func (a *addresses) dial(ctx context.Context, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}

	loopback, ok := a.find(host)
	if !ok {
		return nil, unreachable(host, address)
	}

	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(a.book.Port)))

	var op *net.OpError
	if errors.As(err, &op) {
		return nil, &net.OpError{Op: op.Op, Net: op.Net, Addr: typed(address), Err: op.Err}
	}

	return conn, err
}

// unreachable is what a network says of an address where no machine is, and DNS of a name that it does not have.
func unreachable(host, address string) error {
	failure := &net.OpError{Op: "dial", Net: "tcp"}

	if _, err := netip.ParseAddr(host); err != nil {
		failure.Err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	} else {
		failure.Addr = typed(address)
		failure.Err = os.NewSyscallError("connect", syscall.EHOSTUNREACH)
	}

	return failure
}

type typed string

func (typed) Network() string  { return "tcp" }
func (t typed) String() string { return string(t) }
