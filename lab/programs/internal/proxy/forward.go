package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// newReverse sets no FlushInterval: ReverseProxy hands on answers of unknown length at once,
// and that is what watches and logs are. For the others a timer each would cost more than it gives.
func (p *Proxy) newReverse(transport http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:      transport,
		Rewrite:        p.rewrite,
		ModifyResponse: p.changeAnswer,
		ErrorHandler:   p.answerFailure,
		BufferPool:     &copyBuffers{},
	}
}

// rewrite runs after ReverseProxy has removed the headers that Connection names,
// so a client cannot have the verified identity removed by naming it there.
func (p *Proxy) rewrite(out *httputil.ProxyRequest) {
	out.Out.URL.Scheme = p.upstream.Scheme
	out.Out.URL.Host = p.upstream.Host
	out.Out.URL.RawQuery = out.In.URL.RawQuery // byte for byte, also where it is odd
	out.Out.Host = p.upstream.Host
	exchangeOf(out.In.Context()).identity.writeTo(out.Out.Header)
}

// changeAnswer gives the answer to whatever wants to see or change it.
func (p *Proxy) changeAnswer(answer *http.Response) error {
	x := exchangeOf(answer.Request.Context())
	if p.down.CompareAndSwap(true, false) {
		log.Printf("upstream %s answers again", p.upstream.Host)
	}
	if isUpgrade(answer) {
		x.status = answer.StatusCode // the connection is taken over before any header is written
	}
	if answer.StatusCode == http.StatusOK {
		switch x.request.Class {
		case Watch:
			x.stream = newWatchStream(x, answer)
			answer.Body = x.stream
			p.watches.add(x.stream)
		case List:
			p.lists.remember(x, answer)
		}
	}
	if x.hit != nil {
		x.hit.rule.fault.after(x, x.hit, answer)
	}
	return nil
}

// answerFailure speaks for an API server that cannot: 503 if it was not reached,
// 502 if it was and broke off, so that the request may have had its effect.
func (p *Proxy) answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	if x.in.Context().Err() != nil {
		x.abort() // the client has left
	}
	if p.down.CompareAndSwap(false, true) {
		log.Printf("upstream %s: %v", p.upstream.Host, err)
	}
	refusal := newStatus(http.StatusBadGateway, "", fmt.Sprintf("the API server broke off: %v", err))
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		refusal = newStatus(http.StatusServiceUnavailable, "ServiceUnavailable", fmt.Sprintf("the API server cannot be reached: %v", err))
	}
	refusal.writeTo(w)
}

// upstreamTransport keeps two pools: requests with a verified identity go over connections
// that present the front-proxy certificate. All others go over plain ones: the API server
// would try that certificate as the client's own, and refuse anonymous requests for it.
type upstreamTransport struct {
	trusted *http.Transport
	plain   *http.Transport
}

func newUpstreamTransport(trust *tls.Config, front tls.Certificate) *upstreamTransport {
	trusted := trust.Clone()
	trusted.Certificates = []tls.Certificate{front}
	return &upstreamTransport{trusted: keptPool(trusted), plain: keptPool(trust)}
}

func (t *upstreamTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if exchangeOf(r.Context()).identity != nil {
		return t.trusted.RoundTrip(r)
	}
	return t.plain.RoundTrip(r)
}

func keptPool(config *tls.Config) *http.Transport {
	return &http.Transport{
		TLSClientConfig:     config, // no ForceAttemptHTTP2: one request per connection, so faults hit only one
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // the client's wish is passed on, and its answer as it is
		ReadBufferSize:      16 << 10,
		WriteBufferSize:     16 << 10,
	}
}

// copyBuffers saves an allocation of 32 KiB for each answer.
type copyBuffers struct{ pool sync.Pool }

func (b *copyBuffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 32<<10)
}

func (b *copyBuffers) Put(buffer []byte) { b.pool.Put(&buffer) }
