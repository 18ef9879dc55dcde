// Command redis is the small Redis that Argo CD's cache needs in the lab.
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

	"firstlight.dev/lab/programs/internal/redis"
)

const version = "0.1.0"

func main() {
	var config redis.Config
	flag.StringVar(&config.Listen, "listen", "", "`address` for clients, such as 127.0.0.1:6379")
	flag.StringVar(&config.Health, "health", "", "`address` of GET /healthz; without it there is none")
	show := flag.Bool("version", false, "print the version")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Clients must give the password of the environment variable REDIS_PASSWORD, if there is one.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *show {
		fmt.Printf("redis %s %s\n", version, runtime.Version())
		return
	}
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q", flag.Arg(0))
	}
	if config.Listen == "" {
		log.Fatal("--listen is missing")
	}
	config.Password = os.Getenv("REDIS_PASSWORD") // every user may read arguments

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	log.SetPrefix("redis: ")
	log.SetFlags(log.LstdFlags | log.Lmicroseconds | log.Lmsgprefix)
	if err := redis.Run(ctx, config); err != nil {
		log.Fatal(err)
	}
}
