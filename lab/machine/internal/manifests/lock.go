package manifests

import (
	"context"
	"fmt"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// Locker waits until no other machine of the cluster runs a pass.
type Locker func(ctx context.Context) (unlock func(), err error)

// EtcdLock is Talos's mutex in etcd; connect gives a client of the machine's own member, which the lock closes.
func EtcdLock(connect func(ctx context.Context) (*clientv3.Client, error)) Locker {
	return func(ctx context.Context) (func(), error) {
		client, err := connect(ctx)
		if err != nil {
			return nil, fmt.Errorf("error creating etcd client: %w", err)
		}

		session, err := concurrency.NewSession(client, concurrency.WithContext(ctx))
		if err != nil {
			_ = client.Close()

			return nil, fmt.Errorf("error creating etcd session: %w", err)
		}

		mutex := concurrency.NewMutex(session, constants.EtcdTalosManifestApplyMutex)

		if err := mutex.Lock(ctx); err != nil {
			_ = session.Close()
			_ = client.Close()

			return nil, fmt.Errorf("error acquiring mutex for key %s: %w", constants.EtcdTalosManifestApplyMutex, err)
		}

		return func() {
			// The pass may end because its context did: the others must not wait for the session to expire.
			quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()

			_ = mutex.Unlock(quick)
			_ = session.Close()
			_ = client.Close()
		}, nil
	}
}
