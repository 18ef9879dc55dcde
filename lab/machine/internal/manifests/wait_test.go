package manifests

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	patience  = 20 * time.Second
	pollEvery = 20 * time.Millisecond
)

// until waits for a condition, and fails the test when it does not come.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()

	for end := time.Now().Add(patience); !condition(); time.Sleep(pollEvery) {
		if time.Now().After(end) {
			t.Fatalf("did not happen: %s", what)
		}
	}
}

// lines is a log that a test can look at.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) write(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.text = append(l.text, fmt.Sprintf(format, args...))
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()

	found := 0

	for _, line := range l.text {
		if strings.Contains(line, part) {
			found++
		}
	}

	return found
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return strings.Join(l.text, "\n")
}
