package discovery

import (
	"os"
	"path/filepath"
	"testing"

	"firstlight.dev/lab/machine/internal/book"
	"firstlight.dev/lab/machine/internal/resources"
)

func TestMachinesOfOneClusterFindEachOther(t *testing.T) {
	machines := t.TempDir()
	b := &book.Book{}

	for name, cluster := range map[string]string{"a": "one", "b": "other"} {
		announce(t, machines, name, cluster)
	}

	announce(t, machines, "c", "one")

	for _, name := range []string{"c", "a", "b", "bare"} {
		b.Machines = append(b.Machines, book.Entry{Name: name})
	}

	found := Find(machines, b, Cluster("one", "secret"))
	if len(found) != 2 || found[0].Hostname != "c" || found[1].Hostname != "a" {
		t.Errorf("%+v", found)
	}

	if err := Withdraw(filepath.Join(machines, "a")); err != nil {
		t.Fatal(err)
	}

	if found := Find(machines, b, Cluster("one", "secret")); len(found) != 1 {
		t.Errorf("%+v", found)
	}
}

func TestTheSecretCounts(t *testing.T) {
	if Cluster("one", "secret") == Cluster("one", "another") {
		t.Error("a stranger who knows the id would be let in")
	}
}

func announce(t *testing.T, machines, name, cluster string) {
	t.Helper()

	home := filepath.Join(machines, name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}

	if _, err := Announce(home, Affiliate{Cluster: Cluster(cluster, "secret"), Member: resources.Member{Hostname: name}}); err != nil {
		t.Fatal(err)
	}
}
