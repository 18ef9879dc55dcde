package proxy

import (
	"sync"
	"time"
)

// keptRecords is how far back GET /requests can look.
const keptRecords = 10_000

// Record is what is left of an exchange.
type Record struct {
	Number       uint64    `json:"number"` // in order of completion, so that ?since=N misses none
	Time         time.Time `json:"time"`   // of its beginning
	User         string    `json:"user"`
	Method       string    `json:"method"`
	Path         string    `json:"path"` // with query
	Class        Class     `json:"class"`
	Apply        bool      `json:"apply,omitempty"`
	Status       int       `json:"status"` // 0: nothing was answered
	Faults       []string  `json:"faults,omitempty"`
	Milliseconds float64   `json:"milliseconds"`
	Bytes        int64     `json:"bytes"` // of the answer's body
}

// Stats counts since the start of the proxy.
type Stats struct {
	Requests    map[Class]int  `json:"requests"` // begun
	InFlight    map[Class]int  `json:"inFlight"`
	Hits        map[string]int `json:"hits"` // by kind of fault, those of cleared rules too
	Connections int            `json:"connections"`
	Recorded    uint64         `json:"recorded"`
	Seed        uint64         `json:"seed"`
}

type recorder struct {
	mu       sync.Mutex
	ring     []Record
	last     uint64
	begun    map[Class]int
	inFlight map[Class]int
	hits     map[string]int
	accepted int
}

func newRecorder() *recorder {
	return &recorder{
		ring:     make([]Record, keptRecords),
		begun:    map[Class]int{},
		inFlight: map[Class]int{},
		hits:     map[string]int{},
	}
}

func (r *recorder) begin(x *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun[x.request.Class]++
	r.inFlight[x.request.Class]++
}

func (r *recorder) hit(x *exchange, rule *activeRule) {
	x.faults = append(x.faults, rule.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hits[rule.Fault]++
}

func (r *recorder) accept() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted++
}

func (r *recorder) end(x *exchange) {
	record := Record{
		Time:         x.started,
		User:         x.user,
		Method:       x.in.Method,
		Path:         x.in.URL.RequestURI(),
		Class:        x.request.Class,
		Apply:        x.request.Apply,
		Status:       x.status,
		Faults:       x.faults,
		Milliseconds: float64(time.Since(x.started).Microseconds()) / 1000,
		Bytes:        x.bytes,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight[record.Class]--
	r.last++
	record.Number = r.last
	r.ring[r.last%keptRecords] = record
}

// since returns the kept records after number n, and how many of those asked for are lost.
func (r *recorder) since(n uint64) (records []Record, last, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := n + 1
	if r.last > keptRecords && first <= r.last-keptRecords {
		first = r.last - keptRecords + 1
		lost = first - (n + 1)
	}
	records = []Record{}
	for number := first; number <= r.last; number++ {
		records = append(records, r.ring[number%keptRecords])
	}
	return records, r.last, lost
}

func (r *recorder) stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{
		Requests: map[Class]int{}, InFlight: map[Class]int{}, Hits: map[string]int{},
		Connections: r.accepted, Recorded: r.last,
	}
	for _, class := range Classes { // zeros too, so that a reader need not ask what is there
		s.Requests[class], s.InFlight[class] = r.begun[class], r.inFlight[class]
	}
	for _, name := range kindNames() {
		s.Hits[name] = r.hits[name]
	}
	return s
}
