// Package serving runs the gRPC servers of a machine.
package serving

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
)

// Grace is how long calls in flight may go on after a server was told to stop; Talos gives them the same.
const Grace = 10 * time.Second

// Server serves on a listener until it is told to stop. Its port is free then, while calls in flight go on for a while.
type Server struct {
	listener net.Listener
	grpc     *grpc.Server
	grace    time.Duration
	// closing is called when the last call has ended.
	closing func()
	drained chan struct{}
}

// New makes a server; closing may be nil.
func New(listener net.Listener, server *grpc.Server, grace time.Duration, closing func()) *Server {
	return &Server{listener: listener, grpc: server, grace: grace, closing: closing, drained: make(chan struct{})}
}

// Serve returns when ctx is done and the port is free, or when serving failed.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 1)

	go func() { failed <- s.grpc.Serve(s.listener) }()

	select {
	case err := <-failed:
		s.grpc.Stop()
		s.done()

		return err
	case <-ctx.Done():
		// Closed here and not only by gRPC, so that the port is free when this returns.
		s.listener.Close()

		go s.drain()

		return nil
	}
}

// Drained is closed when the last call in flight has ended.
func (s *Server) Drained() <-chan struct{} { return s.drained }

// Address is where the server listens.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

func (s *Server) drain() {
	defer s.done()

	limit := time.AfterFunc(s.grace, s.grpc.Stop)
	defer limit.Stop()

	s.grpc.GracefulStop()
}

func (s *Server) done() {
	if s.closing != nil {
		s.closing()
	}

	close(s.drained)
}
