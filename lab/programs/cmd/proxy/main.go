// Command proxy stands before the lab's kube-apiserver and causes declared faults.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"firstlight.dev/lab/programs/internal/proxy"
)

const version = "0.1.0"

func main() {
	var config proxy.Config
	flag.StringVar(&config.Listen, "listen", "", "`address` for clients, such as 127.0.0.1:6443")
	flag.StringVar(&config.Upstream, "upstream", "", "the API server, as `https://address`")
	flag.StringVar(&config.TLSCert, "tls-cert", "", "server certificate `file`")
	flag.StringVar(&config.TLSKey, "tls-key", "", "server key `file`")
	flag.StringVar(&config.ClientCA, "client-ca", "", "CA `file` of client certificates; without it none are asked for")
	flag.StringVar(&config.UpstreamCA, "upstream-ca", "", "CA `file` of the API server's certificate")
	flag.StringVar(&config.UpstreamName, "upstream-name", "", "`name` in the API server's certificate, if it is not the address")
	flag.StringVar(&config.FrontCert, "front-cert", "", "front-proxy client certificate `file`")
	flag.StringVar(&config.FrontKey, "front-key", "", "front-proxy client key `file`")
	flag.StringVar(&config.Control, "control", "", "`path` of the control socket")
	flag.Uint64Var(&config.Seed, "seed", 1, "`number` from which rates and jitter are drawn")
	show := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *show {
		fmt.Printf("proxy %s %s\n", version, runtime.Version())
		return
	}
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q", flag.Arg(0))
	}

	beModest()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	log.SetPrefix("proxy: ")
	log.SetFlags(log.LstdFlags | log.Lmicroseconds | log.Lmsgprefix)
	if err := proxy.Run(ctx, config); err != nil {
		log.Fatal(err)
	}
}

// beModest leaves the processors to the API server and etcd, which share the machine with
// the proxy: half of them halves the waking of idle threads, and the heap is so small that
// collecting it at double size would happen hundreds of times a minute.
func beModest() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
