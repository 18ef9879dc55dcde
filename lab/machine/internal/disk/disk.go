// Package disk is what a machine keeps over reboots: the partitions STATE, EPHEMERAL and META, as directories.
package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Meta is what the META partition and the boot loader know.
type Meta struct {
	// Installed says on which disk Talos is; empty while the machine runs from its boot medium.
	Installed string `json:"installed,omitempty"`
	// Version is the installed one, and Previous the one that a rollback boots.
	Version  string `json:"version,omitempty"`
	Previous string `json:"previous,omitempty"`
	// Staged is an installer image to be installed at the next boot.
	Staged string `json:"staged,omitempty"`
	// Tags are what MetaWrite wrote.
	Tags map[uint8]string `json:"tags,omitempty"`
	// Cordoned says that Talos itself cordoned the node, and undoes that when it is back.
	Cordoned bool `json:"cordoned,omitempty"`
}

// Disk is the disk of one machine.
type Disk struct {
	home string
}

// At is the disk below a machine's home.
func At(home string) (*Disk, error) {
	d := &Disk{home: home}
	for _, path := range []string{d.state(), d.Ephemeral()} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
	}

	return d, nil
}

func (d *Disk) state() string  { return filepath.Join(d.home, "state") }
func (d *Disk) config() string { return filepath.Join(d.state(), "config.yaml") }
func (d *Disk) meta() string   { return filepath.Join(d.home, "meta.json") }

// Ephemeral is the directory of the EPHEMERAL partition.
func (d *Disk) Ephemeral() string { return filepath.Join(d.home, "ephemeral") }

// Etcd is where etcd has its data.
func (d *Disk) Etcd() string { return filepath.Join(d.Ephemeral(), "etcd") }

// Snapshot is where an uploaded etcd snapshot waits for the recovery.
func (d *Disk) Snapshot() string { return filepath.Join(d.Ephemeral(), "etcd.snapshot") }

// Config is the machine config of the STATE partition; nil if there is none.
func (d *Disk) Config() ([]byte, error) {
	data, err := os.ReadFile(d.config())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	return data, err
}

// WriteConfig keeps a machine config.
func (d *Disk) WriteConfig(data []byte) error { return WriteWhole(d.config(), data) }

// Meta reads the META partition.
func (d *Disk) Meta() (Meta, error) {
	var m Meta

	data, err := os.ReadFile(d.meta())
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}

	if err != nil {
		return m, err
	}

	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w", d.meta(), err)
	}

	return m, nil
}

// ChangeMeta reads, changes and writes the META partition.
func (d *Disk) ChangeMeta(change func(*Meta)) error {
	m, err := d.Meta()
	if err != nil {
		return err
	}

	change(&m)

	data, err := json.Marshal(m)
	if err != nil {
		return err
	}

	return WriteWhole(d.meta(), data)
}

// Identity is the node's, which is on STATE; empty on a machine that was never wiped.
func (d *Disk) Identity() string {
	data, err := os.ReadFile(d.identity())
	if err != nil {
		return ""
	}

	return string(data)
}

// SetIdentity gives the node another identity.
func (d *Disk) SetIdentity(id string) error { return WriteWhole(d.identity(), []byte(id)) }

func (d *Disk) identity() string { return filepath.Join(d.home, "identity") }

// WipeState forgets the machine config.
func (d *Disk) WipeState() error { return empty(d.state()) }

// WipeEphemeral forgets etcd's data and everything else on EPHEMERAL.
func (d *Disk) WipeEphemeral() error { return empty(d.Ephemeral()) }

// WipeMeta forgets the META partition, but not what is installed: the boot partitions are others.
func (d *Disk) WipeMeta() error {
	return d.ChangeMeta(func(m *Meta) { m.Tags, m.Staged, m.Cordoned = nil, "", false })
}

// WipeAll makes the disk empty.
func (d *Disk) WipeAll() error {
	return errors.Join(d.WipeState(), d.WipeEphemeral(), removeFile(d.meta()))
}

func empty(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}

	return os.MkdirAll(folder, 0o700)
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	return nil
}

// WriteWhole writes a file so that a reader sees the old or the new content, never a part.
func WriteWhole(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // of no effect once it is renamed

	if _, err := file.Write(data); err != nil {
		file.Close()

		return err
	}

	if err := file.Sync(); err != nil {
		file.Close()

		return err
	}

	if err := file.Close(); err != nil {
		return err
	}

	return os.Rename(file.Name(), path)
}

// WriteJSON writes a value whole, unless it is there already; whether it was written.
func WriteJSON(path string, value any) (bool, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return false, err
	}

	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return false, nil
	}

	return true, WriteWhole(path, data)
}

// Remove deletes a file that may be gone already.
func Remove(path string) error { return removeFile(path) }
