package journal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func begin(t *testing.T, folder string) *Journal {
	t.Helper()

	j, err := Begin(folder)
	if err != nil {
		t.Fatal(err)
	}

	return j
}

func read(t *testing.T, j *Journal, id string, tail int) string {
	t.Helper()

	var text strings.Builder

	err := j.Read(context.Background(), id, tail, false, func(line []byte) error {
		text.Write(line)

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return text.String()
}

func TestALineOfTalosIsInTheRingBufferAndInMachinedsLog(t *testing.T) {
	j := begin(t, t.TempDir())
	j.Printf("entering %s", "maintenance service")

	for _, id := range []string{Kernel, "machined"} {
		if text := read(t, j, id, -1); !strings.Contains(text, "entering maintenance service\n") {
			t.Errorf("%s: %q", id, text)
		}
	}
}

func TestTheTailIsTheLastLines(t *testing.T) {
	j := begin(t, t.TempDir())
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		_, _ = j.Service("etcd").Write([]byte(line))
	}

	if text := read(t, j, "etcd", 2); text != "two\nthree\n" {
		t.Errorf("%q", text)
	}
}

func TestABootBeginsAnew(t *testing.T) {
	folder := t.TempDir()
	begin(t, folder).Printf("first life")

	second := begin(t, folder)
	second.Printf("second life")

	if text := read(t, second, Kernel, -1); strings.Contains(text, "first") || !strings.Contains(text, "second") {
		t.Errorf("%q", text)
	}
}

func TestAFollowerSeesLinesThatComeLater(t *testing.T) {
	j := begin(t, t.TempDir())
	j.Logf("etcd", "first")

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	var seen int

	enough := errors.New("enough")

	err := j.Read(ctx, "etcd", -1, true, func([]byte) error {
		if seen++; seen == 2 {
			return enough
		}

		go j.Logf("etcd", "second")

		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("%d lines, %v", seen, err)
	}
}
