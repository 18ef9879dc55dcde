package kubelet

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// serveLogs writes the declared lines. sinceSeconds and the like are ignored: the lines
// have no time of their own.
func (s *server) serveLogs(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	lines := s.rules.current().lines(placeOf(r))
	if text := query.Get("tailLines"); text != "" {
		tail, err := strconv.Atoi(text)
		if err != nil || tail < 0 {
			http.Error(w, fmt.Sprintf("tailLines %q: write a number from 0 on", text), http.StatusBadRequest)
			return
		}
		lines = lines[max(0, len(lines)-tail):]
	}

	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	for _, line := range lines {
		if query.Get("timestamps") == "true" {
			line = time.Now().UTC().Format(time.RFC3339Nano) + " " + line
		}
		fmt.Fprintln(w, line)
	}
	if query.Get("follow") == "true" {
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}
