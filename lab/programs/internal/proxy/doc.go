// Package proxy stands before a kube-apiserver, passes everything through and,
// where a rule says so, breaks one exchange in one declared way.
//
// A request takes this path:
//
//	server.go      TLS, HTTP/1.1, start and stop
//	connection.go  the client's connection: who it is, and how to reset it
//	identity.go    certificate -> X-Remote-* headers, tokens -> name for rules
//	classify.go    method, path, query -> class, resource, name
//	ruleset.go     which rules fire on it (rule.go and match.go: what they say)
//	fault.go       the table of faults; each fault_*.go is one of them
//	forward.go     the way to the API server and back
//	watchstream.go the events of a watch, one by one (frames.go)
//	recorder.go    what happened, for GET /requests and GET /stats
//
// Tests steer it over a unix socket: control.go.
package proxy
