// Package journal keeps what the machine says: the kernel's ring buffer and a log for each service, as files.
//
// Both begin anew with every boot, as they do in Talos, where they are in memory; the files of the boot before stay
// beside them, for whoever looks into the lab's directory.
package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"
)

// Kernel is the id of the ring buffer.
const Kernel = "dmesg"

// Journal is all logs of a machine.
type Journal struct {
	folder string

	mu      sync.Mutex
	files   map[string]*os.File
	changed chan struct{}
}

// Begin opens the journal of a new boot.
func Begin(folder string) (*Journal, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}

	old, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return nil, err
	}

	for _, path := range old {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}

	return &Journal{folder: folder, files: map[string]*os.File{}, changed: make(chan struct{})}, nil
}

// Printf writes a line of Talos itself into the ring buffer and into machined's log.
func (j *Journal) Printf(format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	now := time.Now().UTC()

	for line := range strings.SplitSeq(text, "\n") {
		j.write(Kernel, fmt.Sprintf("%s: %7s: [%s]: [talos] %s\n", "user", "warning", now.Format(time.RFC3339Nano), line))
		fmt.Println(now.Format(time.DateTime), line) // the lab's own log of this machine
		j.write("machined", fmt.Sprintf("%s %s\n", now.Format("2006/01/02 15:04:05.000000"), line))
	}
}

// Service is where a service writes.
func (j *Journal) Service(id string) io.Writer { return writer{j, id} }

// Logf writes a line into the log of one service.
func (j *Journal) Logf(id, format string, args ...any) {
	now := time.Now().UTC().Format("2006/01/02 15:04:05.000000")
	j.write(id, now+" "+strings.TrimRight(fmt.Sprintf(format, args...), "\n")+"\n")
}

type writer struct {
	journal *Journal
	id      string
}

func (w writer) Write(data []byte) (int, error) {
	w.journal.write(w.id, string(data))

	return len(data), nil
}

func (j *Journal) write(id, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()

	file := j.files[id]
	if file == nil {
		var err error
		if file, err = os.OpenFile(j.path(id), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return // a full disk must not stop a machine that could go on
		}

		j.files[id] = file
	}

	_, _ = file.WriteString(text)

	close(j.changed)
	j.changed = make(chan struct{})
}

func (j *Journal) path(id string) string { return filepath.Join(j.folder, id+".log") }

// IDs are the logs that there are, the ring buffer aside.
func (j *Journal) IDs() []string {
	j.mu.Lock()
	defer j.mu.Unlock()

	ids := make([]string, 0, len(j.files))
	for id := range j.files {
		if id != Kernel {
			ids = append(ids, id)
		}
	}

	sort.Strings(ids)

	return ids
}

// Has says whether there is such a log.
func (j *Journal) Has(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()

	return j.files[id] != nil
}

// Read hands out the lines of a log: all of them or the last ones, and with follow those that come.
//
// tail is the number of lines from the end; negative for all.
func (j *Journal) Read(ctx context.Context, id string, tail int, follow bool, emit func([]byte) error) error {
	var offset int64

	for first := true; ; first = false {
		j.mu.Lock()
		changed := j.changed
		j.mu.Unlock()

		lines, end, err := j.from(id, offset)
		if err != nil {
			return err
		}

		if first && tail >= 0 && len(lines) > tail {
			lines = lines[len(lines)-tail:]
		}

		for _, line := range lines {
			if err := emit(line); err != nil {
				return err
			}
		}

		if offset = end; !follow {
			return nil
		}

		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func (j *Journal) from(id string, offset int64) ([][]byte, int64, error) {
	file, err := os.Open(j.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, offset, nil
	}

	if err != nil {
		return nil, offset, err
	}
	defer file.Close()

	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, err
	}

	var lines [][]byte

	for reader := bufio.NewReader(file); ; {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return lines, offset, nil // a line that is not whole yet comes with the next round
		}

		lines = append(lines, line)
		offset += int64(len(line))
	}
}
