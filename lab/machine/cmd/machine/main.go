// Command machine is one virtual Talos machine of the lab. Its exit code says what comes next: 0 is off, 3 is a reboot.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc/test/bufconn"

	"firstlight.dev/lab/machine/internal/apid"
	"firstlight.dev/lab/machine/internal/book"
	"firstlight.dev/lab/machine/internal/machine"
	"firstlight.dev/lab/machine/internal/machined"
)

func main() {
	home := flag.String("home", "", "the machine's directory")
	bookFile := flag.String("book", "", "the address book of the lab")
	etcd := flag.String("etcd", "", "the etcd program")

	flag.Parse()

	code, err := run(*home, *bookFile, *etcd)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}

	os.Exit(code)
}

func run(home, bookFile, etcd string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	addresses, err := book.Load(bookFile)
	if err != nil {
		return 1, err
	}

	m, err := machine.Boot(machine.Options{Home: home, Book: addresses, EtcdBinary: etcd})
	if err != nil {
		return 1, err
	}

	// apid is the only one that can connect: it says which roles a caller has, and is believed.
	inside := bufconn.Listen(1 << 20)
	server := apid.MachinedServer(nil)
	machined.Register(server, m)

	go server.Serve(inside) //nolint:errcheck // ends with the process
	defer server.Stop()

	return m.Run(ctx, func(ctx context.Context) (net.Conn, error) { return inside.DialContext(ctx) })
}
