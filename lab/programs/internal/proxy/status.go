package proxy

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// kubeStatus is the body with which a Kubernetes API server refuses a request.
type kubeStatus struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Metadata   struct{}       `json:"metadata"`
	Status     string         `json:"status"`
	Message    string         `json:"message"`
	Reason     string         `json:"reason,omitempty"`
	Details    *statusDetails `json:"details,omitempty"`
	Code       int            `json:"code"`
}

type statusDetails struct {
	Name              string `json:"name,omitempty"`
	Group             string `json:"group,omitempty"`
	Kind              string `json:"kind,omitempty"` // the resource: that is how the server fills it
	RetryAfterSeconds int    `json:"retryAfterSeconds,omitempty"`
}

func newStatus(code int, reason, message string) kubeStatus {
	return kubeStatus{Kind: "Status", APIVersion: "v1", Status: "Failure", Code: code, Reason: reason, Message: message}
}

// about fills in the object that was asked for.
func (s kubeStatus) about(q Request, retryAfter int) kubeStatus {
	details := statusDetails{Name: q.Name, Group: q.Group, Kind: q.Resource, RetryAfterSeconds: retryAfter}
	if details != (statusDetails{}) {
		s.Details = &details
	}
	return s
}

func (s kubeStatus) writeTo(w http.ResponseWriter) {
	body, _ := json.Marshal(s)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-cache, private")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(s.Details.RetryAfterSeconds))
	}
	w.WriteHeader(s.Code)
	w.Write(body)
}
