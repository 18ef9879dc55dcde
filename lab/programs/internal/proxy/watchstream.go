package proxy

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// watchStream is the body of a watch, handed on event by event. It only ever ends
// between two events, so that a cut is never mistaken for a broken one.
type watchStream struct {
	x       *exchange
	source  io.ReadCloser
	frames  frames
	pending []byte

	passed   int
	limit    int // events, or -1
	farewell []byte
	atEnd    func()
	change   func(event []byte) []byte

	cut atomic.Bool
}

func newWatchStream(x *exchange, answer *http.Response) *watchStream {
	answer.Header.Del("Content-Length") // faults may make it shorter or longer
	answer.ContentLength = -1
	return &watchStream{
		x:      x,
		source: answer.Body,
		frames: newFrames(answer.Header.Get("Content-Type"), answer.Body),
		limit:  -1,
	}
}

// endAfter lets n events pass, then sends the farewell if there is one, and ends.
func (s *watchStream) endAfter(n int, farewell []byte) { s.limit, s.farewell = n, farewell }

// Read is called by one goroutine, the handler's.
func (s *watchStream) Read(p []byte) (int, error) {
	if len(s.pending) == 0 {
		event, err := s.next()
		if err != nil {
			return 0, err
		}
		s.pending = event
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

func (s *watchStream) next() ([]byte, error) {
	if s.limit >= 0 && s.passed >= s.limit {
		return s.end()
	}
	event, err := s.frames.next()
	if s.cut.Load() {
		return nil, io.EOF // closed below us: an error for us, an end for the client
	}
	if err != nil {
		return nil, err
	}
	s.passed++
	if s.change != nil {
		event = s.change(event)
	}
	return event, nil
}

func (s *watchStream) end() ([]byte, error) {
	if farewell := s.farewell; farewell != nil {
		s.farewell = nil
		return farewell, nil
	}
	if s.atEnd != nil {
		s.source.Close()
		s.atEnd()
	}
	return nil, io.EOF
}

// Close also ends the watch at the API server.
func (s *watchStream) Close() error { return s.source.Close() }

// stop ends the watch now, from any goroutine: the closed source wakes Read.
func (s *watchStream) stop(reset bool) {
	s.cut.Store(true)
	if reset {
		s.x.conn.reset()
	}
	s.source.Close()
}

// runningWatches knows the watches that can be cut now.
type runningWatches struct {
	mu      sync.Mutex
	streams map[*watchStream]bool
}

func newRunningWatches() *runningWatches {
	return &runningWatches{streams: map[*watchStream]bool{}}
}

func (r *runningWatches) add(s *watchStream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams[s] = true
}

func (r *runningWatches) remove(s *watchStream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.streams, s)
}

// cut ends all that match, and tells how many.
func (r *runningWatches) cut(match *Match, reset bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
	for s := range r.streams {
		if match.matches(s.x) {
			s.stop(reset)
			delete(r.streams, s)
			count++
		}
	}
	return count
}
