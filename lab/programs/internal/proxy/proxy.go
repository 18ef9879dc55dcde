package proxy

import (
	"crypto/x509"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Proxy is the handler of every request to the API server.
type Proxy struct {
	upstream *url.URL
	reverse  *httputil.ReverseProxy
	clientCA *x509.CertPool
	down     atomic.Bool // the last attempt did not reach the API server

	rules    *ruleset
	watches  *runningWatches
	lists    *listMemory
	recorder *recorder
}

func newProxy(upstream *url.URL, clientCA *x509.CertPool, transport http.RoundTripper, seed uint64) *Proxy {
	p := &Proxy{
		upstream: upstream,
		clientCA: clientCA,
		rules:    newRuleset(seed),
		watches:  newRunningWatches(),
		lists:    newListMemory(),
		recorder: newRecorder(),
	}
	p.reverse = p.newReverse(transport)
	return p
}

// ServeHTTP lets the rules see the request in the order in which they were added,
// then forwards it if none of them has dealt with it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{proxy: p, conn: connectionOf(r), in: r, writer: w, request: Classify(r), started: time.Now()}
	p.recorder.begin(x)
	defer func() {
		p.recorder.end(x)
		if x.stream != nil {
			p.watches.remove(x.stream)
		}
	}()

	if refusal := p.identify(x); refusal != nil {
		refusal.writeTo(x)
		return
	}
	for _, h := range p.rules.take(x) {
		p.recorder.hit(x, h.rule)
		x.hit = h
		if h.rule.fault.before(x, h) == answered {
			return
		}
	}
	p.reverse.ServeHTTP(x, withExchange(x))
}

// identify tells who asks. A certificate that cannot be verified is refused as the
// API server refuses it, unless a token may still prove who it is.
func (p *Proxy) identify(x *exchange) *kubeStatus {
	authorization := x.in.Header.Get("Authorization")
	found, err := x.conn.identify(x.in, p.clientCA, x.started)
	if err != nil && authorization == "" {
		log.Printf("refused a client certificate from %s: %v", x.in.RemoteAddr, err)
		refusal := newStatus(http.StatusUnauthorized, "Unauthorized", fmt.Sprintf("Unauthorized: %v", err))
		return &refusal
	}
	x.identity = found
	if found != nil {
		x.user = found.user
	} else if authorization != "" {
		x.user = x.conn.claimed(authorization)
	}
	return nil
}
