// Package discovery stands in for the discovery service: machines of one cluster find each other by files.
//
// A real machine sends an encrypted affiliate to a service on the internet. Here every machine writes what that would
// hold beside its own files, under a hash of cluster id and secret, and reads those of the others in the address book.
package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"firstlight.dev/lab/machine/internal/book"
	"firstlight.dev/lab/machine/internal/disk"
	"firstlight.dev/lab/machine/internal/resources"
)

const file = "announce.json"

// Affiliate is what a machine tells the others.
type Affiliate struct {
	resources.Member

	// Cluster hides id and secret, and is the same for all machines of a cluster.
	Cluster string `json:"cluster"`
	// Address and Loopback are where the machine is said to be, and where it is.
	Address  string `json:"address"`
	Loopback string `json:"loopback"`
}

// Cluster is the hash under which machines of one cluster find each other.
func Cluster(id, secret string) string {
	sum := sha256.Sum256([]byte(id + "\x00" + secret))

	return hex.EncodeToString(sum[:16])
}

// Announce tells the others; whether it was news.
func Announce(home string, a Affiliate) (bool, error) {
	return disk.WriteJSON(filepath.Join(home, file), a)
}

// Withdraw takes the announcement back.
func Withdraw(home string) error { return disk.Remove(filepath.Join(home, file)) }

// Find is every machine of the cluster, in the order of the book.
func Find(machines string, b *book.Book, cluster string) []Affiliate {
	var found []Affiliate

	for _, entry := range b.Entries() {
		data, err := os.ReadFile(filepath.Join(machines, entry.Name, file))
		if err != nil {
			continue // bare, reset, or not in the lab any more
		}

		var a Affiliate
		if json.Unmarshal(data, &a) == nil && a.Cluster == cluster {
			found = append(found, a)
		}
	}

	return found
}
