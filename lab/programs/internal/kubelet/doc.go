// Package kubelet answers what an API server asks of kubelets: logs, exec, attach and
// port-forward. No process runs in the pods of the lab, so a file of rules says what
// the answers are. Nothing is ever run on the host.
//
//	rules.go        what the file may say, and which rule answers
//	rulesfile.go    reading it again when it has changed
//	server.go       TLS, paths, start and stop
//	logs.go         GET /containerLogs
//	exec.go         /exec and /attach
//	portforward.go  /portForward
//
// Exec and port-forward come over SPDY: the API server translates websockets for every
// node that does not declare the feature ExtendWebSocketsToKubelet.
package kubelet
