package kubelet

import (
	"fmt"
	"io/fs"
	"log"
	"os"
	"sync"
)

// rulesFile is looked at before each answer: a changed rule counts from the next
// request on, and nothing has to watch the file.
type rulesFile struct {
	path string

	mu    sync.Mutex
	read  fs.FileInfo
	rules *Rules
}

// openRules takes an empty path for no rules.
func openRules(path string) (*rulesFile, error) {
	file := &rulesFile{path: path, rules: &Rules{}}
	return file, file.refresh()
}

// current keeps the last good rules while the file is missing or wrong.
func (f *rulesFile) current() *Rules {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refresh(); err != nil {
		log.Printf("the rules stay as they were: %v", err)
	}
	return f.rules
}

func (f *rulesFile) refresh() error {
	if f.path == "" {
		return nil
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if f.read != nil && os.SameFile(info, f.read) && info.ModTime().Equal(f.read.ModTime()) && info.Size() == f.read.Size() {
		return nil
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	f.read = info // also if it is wrong: one line in the log is enough
	rules, err := ParseRules(data)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.rules = rules
	log.Printf("%d log rules, %d exec rules in %s", len(rules.Logs), len(rules.Exec), f.path)
	return nil
}
