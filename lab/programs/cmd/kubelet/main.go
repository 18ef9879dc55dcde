// Command kubelet answers the lab's API server in the name of the kubelets that the
// simulated nodes do not have.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"firstlight.dev/lab/programs/internal/kubelet"
)

const version = "0.1.0"

func main() {
	var config kubelet.Config
	flag.StringVar(&config.Listen, "listen", "", "`address` for the API server, such as 127.0.0.1:10250")
	flag.StringVar(&config.TLSCert, "tls-cert", "", "server certificate `file`")
	flag.StringVar(&config.TLSKey, "tls-key", "", "server key `file`")
	flag.StringVar(&config.ClientCA, "client-ca", "", "CA `file` of client certificates, of which one is required")
	flag.StringVar(&config.Rules, "rules", "", "JSON `file` of answers; read again when it changes")
	show := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *show {
		fmt.Printf("kubelet %s %s\n", version, runtime.Version())
		return
	}
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q", flag.Arg(0))
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	log.SetPrefix("kubelet: ")
	log.SetFlags(log.LstdFlags | log.Lmicroseconds | log.Lmsgprefix)
	if err := kubelet.Run(ctx, config); err != nil {
		log.Fatal(err)
	}
}
