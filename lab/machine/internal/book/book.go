// Package book is what a machine is told by the lab: its own hardware, and where the other machines are.
//
// Every machine has two addresses. The declared one is what configs, certificates, Nodes and members show, since the
// API server refuses loopback addresses there. The loopback one is where it really listens.
package book

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Entry is one machine of the lab.
type Entry struct {
	Name     string `json:"name"`
	Loopback string `json:"loopback"`
	Declared string `json:"declared"`
}

// Book is the file that all machines of a lab share.
type Book struct {
	Machines []Entry `json:"machines"`
	// Port of apid on every machine.
	Port int `json:"port"`
	// Shift is added to the usual ports of trustd and etcd, where something else listens on them.
	Shift int `json:"shift"`
	// API is host:port where the lab's one API server really listens.
	API string `json:"api"`

	path string
	mu   sync.RWMutex
	read time.Time // when the file that was read last was written
}

// Load reads the book.
func Load(path string) (*Book, error) {
	b := &Book{path: path}

	return b, b.Refresh()
}

// Refresh reads the book again: machines may have been added to the lab. Nothing else of it changes while the lab runs.
func (b *Book) Refresh() error {
	b.mu.Lock()
	defer b.mu.Unlock()

	info, err := os.Stat(b.path)
	if err != nil || info.ModTime().Equal(b.read) {
		return err
	}

	data, err := os.ReadFile(b.path)
	if err != nil {
		return err
	}

	b.read = info.ModTime()

	if err := json.Unmarshal(data, b); err != nil {
		return fmt.Errorf("%s: %w", b.path, err)
	}

	return nil
}

// Entries are all machines, in the order of their declaration.
func (b *Book) Entries() []Entry {
	b.mu.RLock()
	defer b.mu.RUnlock()

	return append([]Entry(nil), b.Machines...)
}

// Find is the machine with a name or an address of either kind; false if the lab has none.
func (b *Book) Find(nameOrAddress string) (Entry, bool) {
	for _, e := range b.Entries() {
		if nameOrAddress == e.Name || nameOrAddress == e.Loopback || nameOrAddress == e.Declared {
			return e, true
		}
	}

	return Entry{}, false
}

// Trustd is the port of trustd.
func (b *Book) Trustd() int { return 50001 + b.Shift/10000 }

// EtcdClient is the port of etcd's clients.
func (b *Book) EtcdClient() int { return 2379 + b.Shift }

// EtcdPeer is the port of etcd's members.
func (b *Book) EtcdPeer() int { return 2380 + b.Shift }
