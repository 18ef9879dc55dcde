package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every directory in testdata has a config of old fields, and what “firstlight node migrate“ makes of it.
func TestMigratedConfigsMeanTheSame(t *testing.T) {
	directories, err := filepath.Glob("testdata/*")
	if err != nil || len(directories) == 0 {
		t.Fatalf("there is no testdata: %v", err)
	}

	for _, directory := range directories {
		t.Run(filepath.Base(directory), func(t *testing.T) {
			before, after := read(t, filepath.Join(directory, "before.yaml")), read(t, filepath.Join(directory, "after.yaml"))

			for _, each := range compare(before, after).Differences {
				t.Errorf("%s: %s before, %s after", each.Path, each.Before, each.After)
			}
		})
	}
}

func TestAnotherMeaningIsFound(t *testing.T) {
	text, err := os.ReadFile("testdata/worker/before.yaml")
	if err != nil {
		t.Fatal(err)
	}

	changed := filepath.Join(t.TempDir(), "changed.yaml")
	other := strings.Replace(string(text), "10.244.0.0/16", "10.42.0.0/16", 1)

	if err := os.WriteFile(changed, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}

	found := compare(read(t, "testdata/worker/before.yaml"), read(t, changed)).Differences
	if len(found) == 0 || !strings.Contains(found[0].After, "10.42.0.0/16") {
		t.Errorf("the other network was not found: %v", found)
	}
}

// read skips the test where the machinery is older than the documents.
func read(t *testing.T, path string) map[string]string {
	t.Helper()

	found, err := answers(path)
	if err != nil && strings.Contains(err.Error(), "not registered") {
		t.Skipf("this machinery does not know the documents: %v", err)
	}

	if err != nil {
		t.Fatal(err)
	}

	return found
}
