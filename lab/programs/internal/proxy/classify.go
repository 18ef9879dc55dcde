package proxy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Class groups requests by what a failure means to the client that sent them.
type Class string

// The classes. Other holds what is neither discovery nor work on objects:
// health, version, reviews, token requests, upgrades and proxied services.
const (
	Discovery Class = "discovery"
	Get       Class = "get"
	List      Class = "list"
	Watch     Class = "watch"
	Create    Class = "create"
	Update    Class = "update"
	Delete    Class = "delete"
	Other     Class = "other"
)

// Classes lists every class, in the order in which they are shown.
var Classes = []Class{Discovery, Get, List, Watch, Create, Update, Delete, Other}

// Request is what the API server's RequestInfo would say of a request.
type Request struct {
	Class       Class
	Apply       bool // a PATCH with an apply-patch body (server-side apply)
	Verb        string
	Group       string
	Version     string
	Namespace   string
	Resource    string
	Subresource string
	Name        string
}

// Subresources that turn the connection into something else than an answer.
var connecting = []string{"exec", "attach", "portforward", "proxy"}

// Classify reads method, path, query and the few headers that matter. It follows
// k8s.io/apiserver/pkg/endpoints/request/requestinfo.go, so that "the third list
// of pods" means the same here as in the server's audit log.
func Classify(r *http.Request) Request {
	parts := splitPath(r.URL.Path)
	info, ok := parseResource(r, parts)
	if !ok {
		info.Class = nonResourceClass(r.Method, parts)
		return info
	}
	info.Class = info.resourceClass(r)
	if r.Method == http.MethodPatch {
		info.Apply = strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch+")
	}
	return info
}

func splitPath(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

func nonResourceClass(method string, parts []string) Class {
	if (method == http.MethodGet || method == http.MethodHead) && len(parts) > 0 {
		switch parts[0] {
		case "api", "apis", "openapi":
			return Discovery
		}
	}
	return Other
}

// parseResource reports false for paths that name no resource.
func parseResource(r *http.Request, parts []string) (Request, bool) {
	info := Request{Verb: strings.ToLower(r.Method)}
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[1:]
	case len(parts) >= 4 && parts[0] == "apis":
		info.Group = parts[1]
		parts = parts[2:]
	default:
		return info, false
	}
	info.Version, parts = parts[0], parts[1:]

	if parts[0] == "watch" || parts[0] == "proxy" { // the old form: /api/v1/watch/pods
		info.Verb, parts = parts[0], parts[1:]
		if len(parts) == 0 {
			return info, false
		}
	} else {
		info.Verb = resourceVerb(r.Method)
	}

	if parts[0] == "namespaces" && len(parts) > 1 {
		info.Namespace = parts[1]
		// /namespaces/x/status is the namespace itself, /namespaces/x/pods is not.
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}

	info.Resource = parts[0]
	if len(parts) > 1 {
		info.Name = parts[1]
	}
	if len(parts) > 2 && info.Verb != "proxy" {
		info.Subresource = parts[2]
	}
	if info.Name == "" {
		info.Verb = collectionVerb(info.Verb, r.URL.RawQuery)
	}
	return info, true
}

func resourceVerb(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet, http.MethodHead:
		return "get"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

func collectionVerb(verb, query string) string {
	switch verb {
	case "get":
		if asksToWatch(query) {
			return "watch"
		}
		return "list"
	case "delete":
		return "deletecollection"
	}
	return verb
}

// asksToWatch reads ?watch as the API server does: anything but false and 0 is true.
func asksToWatch(query string) bool {
	if !strings.Contains(query, "watch") { // spares most requests the parsing
		return false
	}
	values, _ := url.ParseQuery(query)
	watch, given := values["watch"]
	return given && watch[0] != "0" && !strings.EqualFold(watch[0], "false")
}

func (q Request) resourceClass(r *http.Request) Class {
	switch {
	case r.Header.Get("Upgrade") != "", q.Verb == "proxy", slices.Contains(connecting, q.Subresource):
		return Other
	case q.Group == "authentication.k8s.io", q.Group == "authorization.k8s.io":
		return Other
	case q.Resource == "serviceaccounts" && q.Subresource == "token":
		return Other
	}
	switch q.Verb {
	case "get":
		return Get
	case "list":
		return List
	case "watch":
		return Watch
	case "create":
		return Create
	case "update", "patch":
		return Update
	case "delete", "deletecollection":
		return Delete
	}
	return Other
}
