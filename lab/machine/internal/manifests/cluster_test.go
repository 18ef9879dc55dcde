package manifests

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Children are told to die with the thread that started them, so it must be one that lives as long as the tests.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	start := make(chan func())
	done := make(chan int)
	onMainThread = func(work func()) {
		finished := make(chan struct{})
		start <- func() { defer close(finished); work() }
		<-finished
	}

	go func() { done <- m.Run() }()

	for {
		select {
		case work := <-start:
			work()
		case code := <-done:
			for _, stop := range slices.Backward(shared.stop) {
				stop()
			}

			os.Exit(code)
		}
	}
}

var onMainThread func(work func())

// cluster is one API server, without any controller, for all tests of the package. The inventory has one name only, so the
// tests that use it do not run in parallel.
type cluster struct {
	api      *rest.Config
	etcd     string
	objects  dynamic.Interface
	kube     *kubernetes.Clientset
	problem  error
	missing  string
	stop     []func()
	starting sync.Once
}

var shared cluster

func useCluster(t *testing.T) *cluster {
	t.Helper()
	shared.starting.Do(func() { onMainThread(func() { shared.problem = shared.start() }) })

	if shared.missing != "" {
		t.Skip(shared.missing)
	}

	if shared.problem != nil {
		t.Fatal(shared.problem)
	}

	shared.sweep(t)

	return &shared
}

// sweep removes what earlier tests left: the inventory, and everything in the default namespace that a test looks at.
func (c *cluster) sweep(t *testing.T) {
	t.Helper()

	for _, err := range []error{
		c.kube.CoreV1().ConfigMaps(constants.KubernetesInventoryNamespace).
			Delete(t.Context(), constants.KubernetesBootstrapManifestsInventoryName, metav1.DeleteOptions{}),
		c.kube.CoreV1().ConfigMaps("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}),
		c.kube.RbacV1().ClusterRoles().Delete(t.Context(), "apply:role", metav1.DeleteOptions{}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

func (c *cluster) start() error {
	etcd, ok := c.program("etcd", "FIRSTLIGHT_ETCD")
	if !ok {
		return nil
	}

	apiserver, ok := c.program("kube-apiserver", "FIRSTLIGHT_KUBE_APISERVER")
	if !ok {
		return nil
	}

	dir, err := os.MkdirTemp("", "manifests-test-")
	if err != nil {
		return err
	}

	c.stop = append(c.stop, func() { _ = os.RemoveAll(dir) })

	address, err := freeAddress()
	if err != nil {
		return err
	}

	signing := filepath.Join(dir, "signing.key")
	tokens := filepath.Join(dir, "tokens.csv")

	if err := errors.Join(
		writeKey(signing),
		os.WriteFile(tokens, []byte("secret,admin,admin,system:masters\n"), 0o600),
	); err != nil {
		return err
	}

	c.etcd = "http://" + address + ":2379"
	peers := "http://" + address + ":2380"

	if err := c.run(dir, etcd,
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+c.etcd, "--advertise-client-urls="+c.etcd,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers,
	); err != nil {
		return err
	}

	if err := c.run(dir, apiserver,
		"--etcd-servers="+c.etcd, "--cert-dir="+filepath.Join(dir, "certificates"),
		"--bind-address="+address, "--secure-port=6443",
		// It must not be a loopback address.
		"--advertise-address=10."+strings.TrimPrefix(address, "127."),
		"--authorization-mode=RBAC", "--token-auth-file="+tokens, "--allow-privileged",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+signing,
		"--service-account-signing-key-file="+signing, "--service-cluster-ip-range=10.96.0.0/12",
		"--shutdown-delay-duration=0s",
	); err != nil {
		return err
	}

	c.api = &rest.Config{
		Host: "https://" + address + ":6443", BearerToken: "secret", QPS: 1000, Burst: 1000,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}

	if c.kube, err = kubernetes.NewForConfig(c.api); err != nil {
		return err
	}

	if c.objects, err = dynamic.NewForConfig(c.api); err != nil {
		return err
	}

	return c.ready(dir)
}

func (c *cluster) ready(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	for {
		_, err := c.kube.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			// The API server makes it after it is ready, and everything here is in it.
			_, err = c.kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		}

		if err == nil {
			_, err = c.kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		}

		if err == nil {
			return nil
		}

		if !pause(ctx, 100*time.Millisecond, nil) {
			log, _ := os.ReadFile(filepath.Join(dir, "kube-apiserver.log"))

			return fmt.Errorf("the API server did not get ready: %w\n%s", err, log)
		}
	}
}

// program finds a program of the lab.
func (c *cluster) program(name, variable string) (string, bool) {
	if path := os.Getenv(variable); path != "" {
		return path, true
	}

	home, _ := os.UserHomeDir()

	found, _ := filepath.Glob(filepath.Join(home, ".cache", "firstlight", "bin", name, "*", name))
	if len(found) == 0 {
		c.missing = fmt.Sprintf("no %s: make installs it into ~/.cache/firstlight, %s names another one", name, variable)

		return "", false
	}

	return slices.MaxFunc(found, func(a, b string) int { return modified(a).Compare(modified(b)) }), true
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}

	return info.ModTime()
}

// run starts a program that dies with the tests.
func (c *cluster) run(dir, program string, args ...string) error {
	log, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck

	command := exec.Command(program, args...)
	command.Dir, command.Stdout, command.Stderr = dir, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

	if err := command.Start(); err != nil {
		return err
	}

	c.stop = append(c.stop, func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})

	return nil
}

// freeAddress is a loopback address whose ports nobody uses; several runs of the tests do not meet.
func freeAddress() (string, error) {
	for i := range 100 {
		number := os.Getpid() + i*997
		address := fmt.Sprintf("127.73.%d.%d", number/250%250, 1+number%250)
		free := true

		for _, port := range []string{"2379", "2380", "6443"} {
			listener, err := net.Listen("tcp", net.JoinHostPort(address, port))
			if err != nil {
				free = false

				break
			}

			_ = listener.Close()
		}

		if free {
			return address, nil
		}
	}

	return "", errors.New("no free address in 127.73.0.0/16")
}

func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}

	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}

	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

func (c *cluster) connectEtcd(context.Context) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{c.etcd}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// get gives a ConfigMap of the default namespace; nil if it is not there.
func (c *cluster) get(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()

	obj, err := c.objects.Resource(configMaps).Namespace("default").Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}

	if err != nil {
		t.Fatal(err)
	}

	return obj
}

// create makes a ConfigMap of the default namespace as somebody else.
func (c *cluster) create(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()

	obj := inline("", "v1 ConfigMap default/"+name).Objects[0]

	made, err := c.objects.Resource(configMaps).Namespace("default").
		Create(t.Context(), obj, metav1.CreateOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}

	return made
}

func (c *cluster) delete(t *testing.T, name string) {
	t.Helper()

	if err := c.objects.Resource(configMaps).Namespace("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// label changes a ConfigMap as somebody else.
func (c *cluster) label(t *testing.T, name, value string) {
	t.Helper()

	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"edited":%q}},"data":{"key":%q}}`, value, value)

	_, err := c.objects.Resource(configMaps).Namespace("default").
		Patch(t.Context(), name, "application/merge-patch+json", patch, metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
}

// inventory is the sorted keys of the inventory; nil if there is no inventory.
func (c *cluster) inventory(t *testing.T) []string {
	t.Helper()

	found, err := c.kube.CoreV1().ConfigMaps(constants.KubernetesInventoryNamespace).
		Get(t.Context(), constants.KubernetesBootstrapManifestsInventoryName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}

	if err != nil {
		t.Fatal(err)
	}

	keys := []string{}
	for key := range found.Data {
		keys = append(keys, key)
	}

	slices.Sort(keys)

	return keys
}

// pass runs one pass that must be clean.
func (c *cluster) pass(t *testing.T, mode Mode, manifests ...Manifest) {
	t.Helper()

	if err := Apply(t.Context(), c.api, manifests, Options{Mode: mode}); err != nil {
		t.Fatal(err)
	}
}

// managers are "manager operation" of an object, sorted.
func managers(obj *unstructured.Unstructured) []string {
	var out []string
	for _, entry := range obj.GetManagedFields() {
		out = append(out, entry.Manager+" "+string(entry.Operation))
	}

	slices.Sort(out)

	return out
}
