package proxy

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The same requests to the same server, without and with the proxy between.
// "cpu-us/op" is that of client, proxy and server together, since they share a process:
// the difference between direct and proxied is the proxy's share.

func BenchmarkGet(b *testing.B)      { compare(b, 2<<10, 1) }
func BenchmarkGet16(b *testing.B)    { compare(b, 2<<10, 16) }
func BenchmarkList1MiB(b *testing.B) { compare(b, 1<<20, 1) }

func compare(b *testing.B, size, clients int) {
	body := strings.Repeat("x", size)
	s := newStack(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	})
	direct := &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: s.ca.pool()},
		MaxIdleConnsPerHost: 64,
	}}
	b.Run("direct", func(b *testing.B) { load(b, direct, s.upstream.URL, clients) })
	b.Run("proxied", func(b *testing.B) { load(b, s.client, s.url, clients) })
	for range 10 {
		s.fault(`{"fault": "reset-before", "match": {"users": ["nobody*"], "path": "/apis/**/x"}}`)
	}
	b.Run("proxied-10-rules", func(b *testing.B) { load(b, s.client, s.url, clients) })
}

func load(b *testing.B, client *http.Client, url string, clients int) {
	b.SetParallelism(clients) // per processor
	b.ReportAllocs()
	before := cpu()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			answer, err := client.Get(url + pods)
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	})
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-us/op")
}

func cpu() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
