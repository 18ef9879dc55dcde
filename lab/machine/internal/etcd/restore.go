package etcd

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// restore makes the data directory of a new cluster of one member from a snapshot. It is made aside and moved into
// place as a whole: what a kill leaves half made must not pass for data.
func (s *Service) restore(path string, skipHashCheck bool) (err error) {
	// A file that is no database makes the storage layer panic.
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("error recovering from the snapshot: %v", problem)
		}
	}()

	logger := zap.New(zapcore.NewCore(
		zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(s.opts.Log), zapcore.InfoLevel))
	manager := snapshot.NewV3(logger)
	status, err := manager.Status(path)
	if err != nil {
		return fmt.Errorf("error verifying snapshot: %w", err)
	}
	s.opts.Console(fmt.Sprintf("recovering etcd from snapshot: hash %08x, revision %d, total keys %d, total size %d",
		status.Hash, status.Revision, status.TotalKey, status.TotalSize))

	aside := s.opts.DataDir + ".restoring"
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	defer os.RemoveAll(aside)
	if err := manager.Restore(snapshot.RestoreConfig{
		SnapshotPath:   path,
		Name:           s.opts.Name,
		OutputDataDir:  aside,
		PeerURLs:       []string{s.opts.peerURL()},
		InitialCluster: s.opts.Name + "=" + s.opts.peerURL(),
		SkipHashCheck:  skipHashCheck,
	}); err != nil {
		return fmt.Errorf("error recovering from the snapshot: %w", err)
	}
	if err := os.Rename(aside, s.opts.DataDir); err != nil {
		return fmt.Errorf("error recovering from the snapshot: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("error deleting snapshot: %w", err)
	}

	return nil
}
