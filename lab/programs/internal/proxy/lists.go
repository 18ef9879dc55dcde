package proxy

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// What the memory of lists may hold: some hundred lists of a lab, or a few very big ones.
const (
	maxListBytes  = 8 << 20
	maxListMemory = 64 << 20
)

// listMemory keeps the last answer to each list request; the longest unused goes first.
type listMemory struct {
	mu    sync.Mutex
	byKey map[listKey]*list.Element
	used  *list.List
	bytes int

	buffers sync.Pool // a body of unknown length grows in one that has grown before
}

type listKey [sha256.Size]byte

type oldList struct {
	key    listKey
	answer *http.Response // status and headers
	body   []byte
}

func newListMemory() *listMemory {
	return &listMemory{
		byKey:   map[listKey]*list.Element{},
		used:    list.New(),
		buffers: sync.Pool{New: func() any { return &bytes.Buffer{} }},
	}
}

// keyOf keeps clients apart: nobody is shown what another one may read.
func keyOf(x *exchange) (key listKey) {
	sum := sha256.New()
	for _, part := range []string{
		x.user, x.in.Header.Get("Authorization"), x.in.Method, x.in.URL.RequestURI(),
		x.in.Header.Get("Accept"), x.in.Header.Get("Accept-Encoding"), x.in.Header.Get("Impersonate-User"),
	} {
		io.WriteString(sum, part)
		sum.Write([]byte{0})
	}
	sum.Sum(key[:0])
	return key
}

// previous is the remembered answer to this request, or nil.
func (m *listMemory) previous(x *exchange) *oldList {
	key := keyOf(x)
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.byKey[key]
	if !ok {
		return nil
	}
	m.used.MoveToFront(element)
	return element.Value.(*oldList)
}

// remember keeps a copy of the body while it streams by.
func (m *listMemory) remember(x *exchange, answer *http.Response) {
	if answer.ContentLength > maxListBytes || x.in.Method != http.MethodGet {
		return
	}
	old := &oldList{key: keyOf(x), answer: &http.Response{StatusCode: answer.StatusCode, Header: answer.Header.Clone()}}
	buffer := m.buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	answer.Body = &rememberedBody{ReadCloser: answer.Body, memory: m, old: old, seen: buffer}
}

func (m *listMemory) keep(old *oldList) {
	old.answer.Header.Set("Content-Length", strconv.Itoa(len(old.body)))
	m.mu.Lock()
	defer m.mu.Unlock()
	if element, ok := m.byKey[old.key]; ok {
		m.forget(element)
	}
	m.byKey[old.key] = m.used.PushFront(old)
	m.bytes += len(old.body)
	for m.bytes > maxListMemory {
		m.forget(m.used.Back())
	}
}

func (m *listMemory) forget(element *list.Element) {
	old := m.used.Remove(element).(*oldList)
	delete(m.byKey, old.key)
	m.bytes -= len(old.body)
}

type rememberedBody struct {
	io.ReadCloser
	memory *listMemory
	old    *oldList
	seen   *bytes.Buffer // nil once the body was kept, or found too big
}

func (b *rememberedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.seen == nil {
		return n, err
	}
	b.seen.Write(p[:n])
	if b.seen.Len() > maxListBytes {
		b.release()
	} else if err == io.EOF {
		b.old.body = bytes.Clone(b.seen.Bytes())
		b.memory.keep(b.old)
		b.release()
	}
	return n, err
}

func (b *rememberedBody) Close() error {
	b.release()
	return b.ReadCloser.Close()
}

func (b *rememberedBody) release() {
	if b.seen != nil {
		b.memory.buffers.Put(b.seen)
		b.seen = nil
	}
}
