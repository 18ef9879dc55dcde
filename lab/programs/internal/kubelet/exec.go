package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// As in the real kubelet.
const (
	idleTimeout     = 4 * time.Hour
	creationTimeout = 30 * time.Second
)

func (s *server) serveExec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	at := placeOf(r)
	remotecommand.ServeExec(w, r, declared{s.rules.current(), at}, at.Pod, "", at.Container, r.URL.Query()["command"],
		options, idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (s *server) serveAttach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	at := placeOf(r)
	remotecommand.ServeAttach(w, r, declared{s.rules.current(), at}, at.Pod, "", at.Container,
		options, idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

// declared answers in the name of the process that does not run there.
type declared struct {
	rules *Rules
	at    Place
}

// ExecInContainer writes what the rule says. It ends without waiting for the end of
// stdin, which an interactive client never sends.
func (d declared) ExecInContainer(_ context.Context, _, _, _ string, command []string, in io.Reader, out, errors io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	drop(in)
	answer := d.rules.answer(d.at, command)
	write(answer.Stdout, out)
	write(answer.Stderr, errors, out) // a terminal has no stderr of its own
	if answer.ExitCode != 0 {
		return exitCode(answer.ExitCode)
	}
	return nil
}

// AttachContainer shows the log, and ends.
func (d declared) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, errors io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	drop(in)
	for _, line := range d.rules.lines(d.at) {
		write(line+"\n", out, errors)
	}
	return nil
}

func drop(in io.Reader) {
	if in != nil {
		go io.Copy(io.Discard, in)
	}
}

// write uses the first stream that the client has asked for.
func write(text string, streams ...io.WriteCloser) {
	for _, stream := range streams {
		if stream != nil {
			io.WriteString(stream, text)
			return
		}
	}
}

// exitCode is an error that the streaming library passes on as an exit code.
type exitCode int

func (c exitCode) Error() string   { return fmt.Sprintf("exit code %d", int(c)) }
func (c exitCode) String() string  { return c.Error() }
func (c exitCode) Exited() bool    { return true }
func (c exitCode) ExitStatus() int { return int(c) }
