package machine

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"

	"firstlight.dev/lab/machine/internal/manifests"
)

// prepareManifests makes what renders the machine's manifests and what puts them into the cluster.
func (m *Machine) prepareManifests() {
	log := func(format string, args ...any) {
		m.Journal.Printf("controller runtime: "+format, args...)
		m.Journal.Logf("controller-runtime", format, args...)
	}

	m.applier = &manifests.Controller{
		Options: manifests.Options{
			Mode: manifests.Mode(m.Hardware.ManifestMode), EmptyInventory: m.Hardware.EmptyInventory,
			Lock: manifests.EtcdLock(m.etcdClient), Log: log,
		},
		API: m.manifestAccess,
		Applied: func(ids []string) {
			if err := manifests.PublishStatus(context.Background(), m.Resources.State(), ids); err != nil {
				log("manifest status: %s", err)
			}
		},
	}
	m.renderer = &manifests.Renderer{Does: m.Does(), State: m.Resources.State(), Changed: m.applier.Set, Log: log}
}

// manifestAccess is the way to the API, once this machine has a control plane.
func (m *Machine) manifestAccess() (*rest.Config, error) {
	if !m.runsControlPlane() || !m.Etcd().IsHealthy() {
		return nil, nil
	}

	return m.RestConfig()
}

// keepManifests renders and applies until the machine stops.
func (m *Machine) keepManifests(ctx context.Context) error {
	var running sync.WaitGroup

	running.Go(func() { m.renderer.Run(ctx) })
	running.Go(func() { m.applier.Run(ctx) })
	running.Wait()

	return nil
}
