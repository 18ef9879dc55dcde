package serving

import (
	"io"
	"log"
	"runtime/debug"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	grpclog "github.com/siderolabs/talos/pkg/grpc/middleware/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Interceptor looks at calls of both kinds before their handler does.
type Interceptor interface {
	UnaryInterceptor() grpc.UnaryServerInterceptor
	StreamInterceptor() grpc.StreamServerInterceptor
}

// Options are the options that all servers of a machine have: calls are logged, a panic is an error of one call, and
// then come the given interceptors in their order. The log may be nil.
func Options(logger *log.Logger, interceptors ...Interceptor) []grpc.ServerOption {
	if logger == nil {
		logger = log.New(io.Discard, "", 0)
	}

	recovered := recovery.WithRecoveryHandler(func(reason any) error {
		logger.Printf("panic: %v\n%s", reason, debug.Stack())

		return status.Errorf(codes.Internal, "%v", reason)
	})

	logged := grpclog.NewMiddleware(logger)

	unary := []grpc.UnaryServerInterceptor{logged.UnaryInterceptor(), recovery.UnaryServerInterceptor(recovered)}
	stream := []grpc.StreamServerInterceptor{logged.StreamInterceptor(), recovery.StreamServerInterceptor(recovered)}

	for _, interceptor := range interceptors {
		unary = append(unary, interceptor.UnaryInterceptor())
		stream = append(stream, interceptor.StreamInterceptor())
	}

	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
		grpc.SharedWriteBuffer(true),
	}
}
