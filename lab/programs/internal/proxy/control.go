package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
)

// Control is the handler of the unix socket over which tests steer the proxy.
func (p *Proxy) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /faults", p.addFault)
	mux.HandleFunc("GET /faults", p.showFaults)
	mux.HandleFunc("DELETE /faults", p.clearFaults)
	mux.HandleFunc("DELETE /faults/{id}", p.clearFault)
	mux.HandleFunc("POST /seed", p.reseed)
	mux.HandleFunc("GET /stats", p.showStats)
	mux.HandleFunc("GET /requests", p.showRequests)
	mux.HandleFunc("POST /watches/cut", p.cutWatches)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	return mux
}

func (p *Proxy) addFault(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	rule, err := ParseRule(data)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	active, err := p.rules.add(rule)
	if err != nil {
		refuse(w, http.StatusConflict, err)
		return
	}
	log.Printf("fault %s added", active.ID)
	reply(w, http.StatusCreated, map[string]string{"id": active.ID})
}

func (p *Proxy) showFaults(w http.ResponseWriter, _ *http.Request) {
	type shown struct {
		Rule    *Rule `json:"rule"`
		Matched int64 `json:"matched"`
		Hits    int64 `json:"hits"`
	}
	faults := []shown{}
	for _, rule := range *p.rules.rules.Load() {
		faults = append(faults, shown{rule.Rule, rule.matched.Load(), rule.hits.Load()})
	}
	reply(w, http.StatusOK, map[string]any{"faults": faults})
}

func (p *Proxy) clearFaults(w http.ResponseWriter, _ *http.Request) {
	cleared := p.rules.clear("")
	log.Printf("%d faults cleared", cleared)
	reply(w, http.StatusOK, map[string]int{"cleared": cleared})
}

func (p *Proxy) clearFault(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	cleared := p.rules.clear(id)
	if cleared == 0 {
		refuse(w, http.StatusNotFound, fmt.Errorf("no fault has the id %q; GET /faults shows those there are", id))
		return
	}
	log.Printf("fault %s cleared", id)
	reply(w, http.StatusOK, map[string]int{"cleared": cleared})
}

func (p *Proxy) reseed(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Seed *uint64 `json:"seed"`
	}
	if err := read(r, &asked); err != nil || asked.Seed == nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf(`write {"seed": 1} with a number from 0 on`))
		return
	}
	p.rules.reseed(*asked.Seed)
	log.Printf("seed %d", *asked.Seed)
	reply(w, http.StatusOK, map[string]uint64{"seed": *asked.Seed})
}

func (p *Proxy) showStats(w http.ResponseWriter, _ *http.Request) {
	stats := p.recorder.stats()
	stats.Seed = p.rules.seed.Load()
	reply(w, http.StatusOK, stats)
}

func (p *Proxy) showRequests(w http.ResponseWriter, r *http.Request) {
	var since uint64
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = strconv.ParseUint(text, 10, 64); err != nil {
			refuse(w, http.StatusBadRequest, fmt.Errorf("since: %q; write the number of the last request that is known, such as ?since=120", text))
			return
		}
	}
	records, last, lost := p.recorder.since(since)
	reply(w, http.StatusOK, map[string]any{"requests": records, "last": last, "lost": lost})
}

func (p *Proxy) cutWatches(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Match Match `json:"match"`
		Reset bool  `json:"reset"`
	}
	err := read(r, &asked)
	if err == nil {
		err = asked.Match.compile()
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf(`%w; write nothing for all, or for example {"match": {"resources": ["pods"]}, "reset": true}`, err))
		return
	}
	cut := p.watches.cut(&asked.Match, asked.Reset)
	log.Printf("%d watches cut", cut)
	reply(w, http.StatusOK, map[string]int{"cut": cut})
}

// read takes an empty body for an empty object.
func read(r *http.Request, into any) error {
	data, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, err error) {
	reply(w, status, map[string]string{"error": err.Error()})
}
