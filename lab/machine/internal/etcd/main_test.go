package etcd

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	clientv3 "go.etcd.io/etcd/client/v3"

	"firstlight.dev/lab/machine/internal/book"
)

// The tests run real etcds, on loopback addresses that differ from test to test and from run to run.

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		beParent()
	}
	// Where etcd's sockets are; the directory of a lab in real life.
	dir, err := os.MkdirTemp("", "etcd")
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		panic(err)
	}
	// They wait more than they work.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// binary is the etcd that the lab uses, or that of FIRSTLIGHT_ETCD.
func binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("FIRSTLIGHT_ETCD"); path != "" {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("no etcd: ", err)
	}
	pattern := filepath.Join(home, ".cache", "firstlight", "bin", "etcd", "*", "etcd")
	found, _ := filepath.Glob(pattern)
	if len(found) == 0 {
		t.Skipf("no etcd at %s: build it with the lab, or set FIRSTLIGHT_ETCD", pattern)
	}

	return found[len(found)-1]
}

var certificateAuthority = sync.OnceValues(func() (*x509.PEMEncodedCertificateAndKey, error) {
	ca, err := secrets.NewEtcdCA(time.Now(), nil)
	if err != nil {
		return nil, err
	}

	return &x509.PEMEncodedCertificateAndKey{Crt: ca.CrtPEM, Key: ca.KeyPEM}, nil
})

// lab is some machines that know each other.
type lab struct {
	*testing.T
	dir  string
	book *book.Book
	// discovered is what machines know of each other; all of them if nil.
	discovered func() []Peer
}

var nextHost struct {
	sync.Mutex
	last int
}

func newLab(t *testing.T, machines int) *lab {
	t.Helper()
	nextHost.Lock()
	defer nextHost.Unlock()
	l := &lab{T: t, dir: t.TempDir(), book: &book.Book{Shift: 10000}}
	for i := range machines {
		nextHost.last++
		l.book.Machines = append(l.book.Machines, book.Entry{
			Name:     fmt.Sprintf("cp-%d", i+1),
			Loopback: fmt.Sprintf("127.72.%d.%d", 1+os.Getpid()%250, nextHost.last),
			Declared: fmt.Sprintf("10.5.0.%d", i+2),
		})
	}

	return l
}

// options of a machine, counted from 1; what it wrote stays from one service to the next.
func (l *lab) options(machine int) Options {
	l.Helper()
	ca, err := certificateAuthority()
	l.ok(err)
	entry := l.book.Machines[machine-1]
	home := filepath.Join(l.dir, entry.Name)
	log := &logFile{}
	l.Cleanup(func() {
		if l.Failed() && os.Getenv("FIRSTLIGHT_ETCD_LOGS") != "" {
			l.Logf("log of %s:\n%s", entry.Name, log)
		}
	})

	return Options{
		Binary:   binary(l.T),
		DataDir:  filepath.Join(home, "ephemeral", "etcd"),
		PKIDir:   filepath.Join(home, "etcd-pki"),
		Name:     entry.Name,
		Loopback: entry.Loopback,
		Declared: entry.Declared,
		Book:     l.book,
		CA:       ca,
		Log:      log,
		Addresses: func() []Peer {
			if l.discovered != nil {
				return l.discovered()
			}

			return l.book.Machines
		},
		Console: func(line string) { fmt.Fprintln(log, "console: "+line) },
	}
}

func (l *lab) service(machine int) *Service {
	l.Helper()
	s, err := New(l.options(machine))
	l.ok(err)
	l.Cleanup(func() { kill(s) })

	return s
}

// cluster is a lab whose machines are voting members; the first was bootstrapped.
func (l *lab) cluster() []*Service {
	l.Helper()
	var services []*Service
	for i := range l.book.Machines {
		services = append(services, l.service(i+1))
	}
	for _, s := range services[1:] {
		go func() { _ = s.Join(context.Background()) }()
	}
	l.ok(services[0].Bootstrap(l.Context()))
	for _, s := range services {
		l.healthy(s)
	}

	return services
}

// join is bounded, since Talos's own patience outlasts that of every test.
func (l *lab) join(s *Service) error {
	ctx, cancel := context.WithTimeout(l.Context(), 20*time.Second)
	defer cancel()

	return s.Join(ctx)
}

func (l *lab) healthy(s *Service) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 30*time.Second)
	defer cancel()
	if err := s.WaitHealthy(ctx); err != nil {
		for _, event := range s.Events() {
			l.Logf("%s: %s", event.State, event.Message)
		}
		l.Fatalf("%s: %v", s.opts.Name, err)
	}
}

func (l *lab) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lab) fails(err, want error) {
	l.Helper()
	if !errors.Is(err, want) {
		l.Fatalf("got %v, want %v", err, want)
	}
}

func (l *lab) put(s *Service, key, value string) {
	l.Helper()
	l.ok(put(s, key, value, callTimeout))
}

func put(s *Service, key, value string, timeout time.Duration) error {
	return s.local(context.Background(), timeout, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.Put(ctx, key, value)

		return err
	})
}

func (l *lab) get(s *Service, key string) (value string) {
	l.Helper()
	l.ok(s.local(l.Context(), callTimeout, func(ctx context.Context, client *clientv3.Client) error {
		answer, err := client.Get(ctx, key)
		if err == nil && len(answer.Kvs) == 1 {
			value = string(answer.Kvs[0].Value)
		}

		return err
	}))

	return value
}

// voters are the names of voting members; everything else that is in the list is an error.
func (l *lab) voters(s *Service, want ...string) {
	l.Helper()
	members, err := s.MemberList(l.Context(), false)
	l.ok(err)
	var names []string
	for _, member := range members {
		if member.IsLearner {
			l.Fatalf("%s (%s) is a learner", member.Hostname, member.PeerUrls)
		}
		names = append(names, member.Hostname)
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		l.Fatalf("members %q, want %q", names, want)
	}
}

func (l *lab) id(s *Service) uint64 {
	l.Helper()
	id, err := s.MemberID(l.Context())
	l.ok(err)

	return id
}

// eventually waits for what has no event.
func (l *lab) eventually(what string, is func() bool) {
	l.Helper()
	for deadline := time.Now().Add(15 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("it never came that %s", what)
		}
	}
}

// kill is the end of the machine, without a word to anybody.
func kill(s *Service) {
	if pid := s.State().PID; pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Stop(ctx)
}

type logFile struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (l *logFile) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.data.Write(data)
}

func (l *logFile) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.data.String()
}
