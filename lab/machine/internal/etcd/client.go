package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
)

const (
	// callTimeout bounds one call to one member; longer than etcd needs to notice that it has no leader any more.
	callTimeout = 4 * time.Second
	// heavyTimeout is for what rewrites the whole database.
	heavyTimeout = 2 * time.Minute
)

// Client is a client of the local member, with etcd's patience: calls wait for a member that is not there, as long as
// their context lets them. The caller closes it.
func (s *Service) Client() (*clientv3.Client, error) { return s.client(s.opts.clientAddress()) }

// impatient makes a call to a member that is not there fail at once: there are others to ask.
var impatient = []grpc.DialOption{
	grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		return invoke(ctx, method, request, reply, conn, append(options, grpc.WaitForReady(false))...)
	}),
	grpc.WithChainStreamInterceptor(func(
		ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, options ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		return stream(ctx, desc, conn, method, append(options, grpc.WaitForReady(false))...)
	}),
}

func (s *Service) client(endpoint string, options ...grpc.DialOption) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:       []string{endpoint},
		DialTimeout:     2 * time.Second,
		TLS:             s.tls.Clone(),
		Logger:          zap.NewNop(),
		MaxUnaryRetries: 5,
		DialOptions: append([]grpc.DialOption{
			grpc.WithSharedWriteBuffer(true),
			// Members here come back in moments, not minutes.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
				MinConnectTimeout: 2 * time.Second,
			}),
		}, options...),
	})
	if err != nil {
		return nil, fmt.Errorf("error building etcd client: %w", err)
	}

	return client, nil
}

// call is one question to one member.
type call func(ctx context.Context, client *clientv3.Client) error

func (s *Service) ask(ctx context.Context, endpoint string, timeout time.Duration, do call) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := s.client(endpoint, impatient...)
	if err != nil {
		return err
	}
	defer client.Close()

	return do(ctx, client)
}

// local asks the member of this machine.
func (s *Service) local(ctx context.Context, timeout time.Duration, do call) error {
	if s.State().PID == 0 {
		return ErrNotRunning
	}

	return s.explain(ctx, s.ask(ctx, s.opts.clientAddress(), timeout, do))
}

// others are the endpoints of the other control planes, in any order.
func (s *Service) others() []string {
	var endpoints []string
	for _, peer := range s.opts.Addresses() {
		if peer.Loopback != "" && peer.Loopback != s.opts.Loopback {
			endpoints = append(endpoints, hostPort(peer.Loopback, s.opts.Book.EtcdClient()))
		}
	}
	rand.Shuffle(len(endpoints), func(i, j int) { endpoints[i], endpoints[j] = endpoints[j], endpoints[i] })

	return endpoints
}

// all is the local member, if there is one, and then the others.
func (s *Service) all() []string {
	if s.State().PID == 0 {
		return s.others()
	}

	return append([]string{s.opts.clientAddress()}, s.others()...)
}

// askAny asks one member after the other until one gives an answer, be it a refusal. Talos leaves the choice to the
// client's balancer, which does not know that learners refuse almost everything.
func (s *Service) askAny(ctx context.Context, endpoints []string, do call) error {
	if len(endpoints) == 0 {
		return errors.New("no controlplane endpoints discovered yet")
	}

	var failure error
	for _, endpoint := range endpoints {
		err := s.ask(clientv3.WithRequireLeader(ctx), endpoint, callTimeout, do)
		if err == nil || isAnswer(err) {
			return err
		}
		if failure == nil || isNoLeader(err) {
			failure = err
		}
		if ctx.Err() != nil {
			break
		}
	}

	return s.explain(ctx, failure)
}

// errLearner is what a learner says to almost everything.
var errLearner = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)

// isAnswer: the cluster itself says no; another member would say the same.
func isAnswer(err error) bool {
	var refusal rpctypes.EtcdError
	if !errors.As(err, &refusal) || errors.Is(err, errLearner) {
		return false
	}
	// This one hides behind the code of a connection that failed.
	return refusal.Code() != codes.Unavailable || errors.Is(err, rpctypes.ErrUnhealthy)
}

func isNoLeader(err error) bool {
	return errors.Is(err, rpctypes.ErrNoLeader) || errors.Is(err, ErrNoQuorum)
}
