package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// explain says of a failed call whether the quorum is lost. etcd's own answers do not: a member that was up says "no
// leader" or "request timed out", one that came up without a quorum accepts connections and says nothing.
func (s *Service) explain(ctx context.Context, err error) error {
	switch {
	case err == nil, isAnswer(err), errors.Is(err, errLearner), errors.Is(err, context.Canceled), errors.Is(err, ErrNoQuorum):
		return err
	case isNoLeader(err):
		return fmt.Errorf("%w: %w", ErrNoQuorum, err)
	}
	if s.State().PID != 0 && s.leaderless(ctx) {
		return fmt.Errorf("%w: %w", ErrNoQuorum, err)
	}

	return err
}

// leaderless asks etcd's health endpoint, which serves from the start of the process on.
func (s *Service) leaderless(ctx context.Context) bool {
	// The caller's time may just have run out, and that is what is to be explained.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 1500*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://etcd/health", nil)
	if err != nil {
		return false
	}
	// It leaves no connection behind, since etcd may be gone before the next question.
	direct := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", s.opts.healthSocket())
		},
	}}
	answer, err := direct.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()

	var health struct {
		Reason string `json:"reason"`
	}

	return json.NewDecoder(answer.Body).Decode(&health) == nil && health.Reason == "RAFT NO LEADER"
}
