package disk

import (
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T) *Disk {
	t.Helper()

	d, err := At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func TestAnEmptyDiskHasNoConfigAndNothingInstalled(t *testing.T) {
	d := open(t)

	config, err := d.Config()
	if err != nil || config != nil {
		t.Errorf("config %q, %v", config, err)
	}

	meta, err := d.Meta()
	if err != nil || meta.Installed != "" {
		t.Errorf("meta %+v, %v", meta, err)
	}
}

func TestPartitionsAreWipedOneByOne(t *testing.T) {
	d := open(t)
	fill(t, d)

	if err := d.WipeEphemeral(); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(d.Etcd()); !os.IsNotExist(err) {
		t.Error("etcd's data is still there")
	}

	if config, _ := d.Config(); string(config) != "machine" {
		t.Errorf("config is %q", config)
	}

	if err := d.WipeState(); err != nil {
		t.Fatal(err)
	}

	if config, _ := d.Config(); config != nil {
		t.Errorf("config is %q", config)
	}

	if err := d.WipeMeta(); err != nil {
		t.Fatal(err)
	}

	if meta, _ := d.Meta(); meta.Installed != "/dev/sda" || len(meta.Tags) != 0 {
		t.Errorf("what is installed is not on META: %+v", meta)
	}
}

func TestAWipedDiskIsEmpty(t *testing.T) {
	d := open(t)
	fill(t, d)

	if err := d.WipeAll(); err != nil {
		t.Fatal(err)
	}

	if meta, _ := d.Meta(); meta.Installed != "" {
		t.Errorf("meta %+v", meta)
	}
}

func TestTheSameIsNotWrittenTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.json")

	for i, want := range []bool{true, false} {
		if written, err := WriteJSON(path, map[string]int{"a": 1}); err != nil || written != want {
			t.Errorf("write %d: %v, %v", i, written, err)
		}
	}

	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func fill(t *testing.T, d *Disk) {
	t.Helper()

	if err := d.WriteConfig([]byte("machine")); err != nil {
		t.Fatal(err)
	}

	if err := os.MkdirAll(filepath.Join(d.Etcd(), "member"), 0o700); err != nil {
		t.Fatal(err)
	}

	err := d.ChangeMeta(func(m *Meta) { m.Installed, m.Tags = "/dev/sda", map[uint8]string{10: "x"} })
	if err != nil {
		t.Fatal(err)
	}
}
